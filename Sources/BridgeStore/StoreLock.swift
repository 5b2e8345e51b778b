internal import Glibc
internal import RoomsRuntime

/// The lock of a state directory: an exclusive `flock` on a file that holds the owner's pid.
///
/// The file stays when the lock goes: removing it would let two processes lock two files of one name.
final class StoreLock {
    private var descriptor: CInt

    init(directory: String) throws(StoreError) {
        let path = directory + "/" + Schema.lockName
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(
                code: .cannotCreate,
                message: "\(path): cannot be opened: \(String(cString: strerror(errno))); "
                    + "the state directory must be writable for this user",
                systemError: errno
            )
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            guard errno == EWOULDBLOCK else {
                throw StoreError(
                    code: .inputOutput,
                    message: "\(path): cannot be locked: \(String(cString: strerror(errno))); "
                        + "the state directory must be on a local file system",
                    systemError: errno
                )
            }
            let owner = Self.owner(descriptor).map { "process \($0)" } ?? "another process"
            throw StoreError(
                code: .locked,
                message: "\(directory): \(owner) uses this state directory; "
                    + "stop it first, or give this one a state directory of its own"
            )
        }
        self.descriptor = descriptor
        let text = Array("\(getpid())\n".utf8)
        // Only a second start reads the pid, for its message: the lock holds without it, also on a full disk.
        _ = ftruncate(descriptor, 0)
        _ = pwrite(descriptor, text, text.count, 0)
    }

    deinit { release() }

    func release() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    private static func owner(_ descriptor: CInt) -> Int? {
        var text = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &text, text.count, 0)
        guard count > 0 else { return nil }
        return Int(String(decoding: text[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
