internal import Glibc
internal import RoomsRuntime

/// How much the file system of the store has left, and a file that keeps some of it for the time when nothing is.
///
/// With a full disk events cannot even be deleted: that writes to the log first. What the ballast held is enough for it, so
/// a full disk empties itself as endpoints accept events.
struct DiskSpace {
    /// What the ballast holds, in bytes.
    static let ballastSize = 16 << 20
    /// With less than this the disk counts as full.
    static let reserve: UInt64 = 16 << 20
    /// How often one looks.
    private static let interval = Duration.seconds(1)

    private let ballast: String
    /// What is left, in bytes; nil when that cannot be told.
    private let free: () -> UInt64?
    private var hasBallast = false
    private var checkedAt: Instant?
    private var isScarce = false

    /// `path` is the database's; `free` is what its file system has left unless something else is given.
    init(path: String, free: (() -> UInt64?)? = nil) {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        ballast = directory + "/store.ballast"
        self.free = free ?? { Self.free(directory) }
    }

    /// Whether there is space for more events; `wasFull`: for so many that it does not run out again at once.
    mutating func allowsMore(_ now: Instant, wasFull: Bool) -> Bool {
        if !wasFull, let checkedAt, now - checkedAt < Self.interval { return !isScarce }
        checkedAt = now
        // One that cannot be asked is found to be full by writing.
        let free = free() ?? .max
        let wanted = wasFull ? Self.reserve * 2 + (hasBallast ? 0 : UInt64(Self.ballastSize)) : Self.reserve
        isScarce = free < wanted
        return !isScarce
    }

    /// Lays the ballast down where there is space for it.
    mutating func takeBallast() {
        guard !hasBallast, free() ?? 0 >= UInt64(Self.ballastSize) + Self.reserve * 2 else { return }
        let descriptor = open(ballast, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        hasBallast = posix_fallocate(descriptor, 0, off_t(Self.ballastSize)) == 0
        if !hasBallast { unlink(ballast) }
    }

    mutating func dropBallast() {
        unlink(ballast)
        hasBallast = false
    }

    private static func free(_ directory: String) -> UInt64? {
        var status = statvfs()
        guard statvfs(directory, &status) == 0 else { return nil }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
    }
}
