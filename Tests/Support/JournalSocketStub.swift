internal import CRoomsLinux
internal import Foundation

/// The socket of a journald that reads only when the test does.
package final class JournalSocketStub {
    private let descriptor: Int32
    private let path: String
    /// Entries that came as files in memory, and those of them that nobody can change.
    package private(set) var files = 0
    package private(set) var sealed = 0

    package struct Silent: Error {}

    package init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let result = Self.withAddress(path) { bind(descriptor, $0, $1) }
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    /// Takes no more: its queue is full from now on.
    package func fill() {
        let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(sender) }
        Self.withAddress(path) { address, length in
            while sendto(sender, "MESSAGE=full\n", 13, 0, address, length) > 0 {}
        }
    }

    private static func withAddress<Result>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// Waits for one at least.
    package func waitForMore() throws -> [[String: [String]]] {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, 20_000) == 1 else { throw Silent() }
        return all()
    }

    package func all() -> [[String: [String]]] {
        var entries: [[String: [String]]] = []
        while let entry = next() { entries.append(entry) }
        return entries
    }

    /// The fields of the next entry; nil when none is there.
    package func next() -> [String: [String]]? {
        var bytes = [UInt8](repeating: 0, count: 1 << 18)
        var file: Int32 = -1
        let count = shim_receive(descriptor, &bytes, bytes.count, &file)
        guard count >= 0 else { return nil }
        guard file >= 0 else { return Self.fields(bytes[..<count]) }
        defer { close(file) }
        files += 1
        if fcntl(file, 1_034) == 15 { sealed += 1 }
        let size = pread(file, &bytes, bytes.count, 0)
        return Self.fields(bytes[..<max(0, size)])
    }

    private static func fields(_ bytes: ArraySlice<UInt8>) -> [String: [String]] {
        var fields: [String: [String]] = [:]
        var rest = bytes
        while let end = rest.firstIndex(of: 0x0a) {
            let line = rest[..<end]
            rest = rest[(end + 1)...]
            if let equal = line.firstIndex(of: UInt8(ascii: "=")) {
                fields[text(line[..<equal]), default: []].append(text(line[(equal + 1)...]))
            } else {
                let length = rest.prefix(8).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
                let value = rest.dropFirst(8).prefix(length)
                fields[text(line), default: []].append(text(value))
                rest = rest.dropFirst(8 + length + 1)
            }
        }
        return fields
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
