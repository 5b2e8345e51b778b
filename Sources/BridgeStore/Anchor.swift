internal import Glibc
internal import RoomsRuntime

/// A small file, synced apart from the database, that tells how far the store has come.
///
/// A database that is behind it has lost the end of its log, which SQLite cannot see: a log simply ends there.
final class Anchor {
    /// How far it may be behind.
    static let interval = Duration.seconds(1)
    private static let size = 64

    private let descriptor: CInt
    private let storeID: ByteString
    private var written: Int64 = 0

    /// Beside the database at `path`; what cannot be opened only warns of nothing.
    init(path: String, storeID: ByteString) {
        self.storeID = storeID
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        descriptor = open(directory + "/store.anchor", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        written = read()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The first id that this store had not given out when it was last written; 0 when that is not known.
    var nextRow: Int64 { written }

    func isBehind(_ nextRow: Int64) -> Bool { descriptor >= 0 && written < nextRow }

    func write(_ nextRow: Int64) {
        written = nextRow
        var text = Array("\(storeID) \(nextRow)\n".utf8)
        guard text.count <= Self.size else { return }
        text += [UInt8](repeating: UInt8(ascii: "\n"), count: Self.size - text.count)
        guard pwrite(descriptor, text, text.count, 0) == text.count else { return }
        fdatasync(descriptor)
    }

    private func read() -> Int64 {
        var bytes = [UInt8](repeating: 0, count: Self.size)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        let words = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }.split(separator: UInt8(ascii: " "))
        // One of another store says nothing of this one.
        guard words.count == 2, Array(words[0]) == storeID.bytes else { return 0 }
        return Int64(String(decoding: words[1], as: UTF8.self)) ?? 0
    }
}
