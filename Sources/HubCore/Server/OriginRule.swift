internal import RoomsRuntime

/// Which pages may connect: those of this machine, and those that the configuration names.
///
/// A browser says where a page comes from; programs say nothing, and are not asked.
struct OriginRule {
    private static let local: [ByteString] = ["localhost", "127.0.0.1", "[::1]"]
    private let named: Set<ByteString>

    init(_ named: [ByteString]) {
        self.named = Set(named)
    }

    func admits(_ origin: ByteString) -> Bool {
        if named.contains("*") || named.contains(origin) { return true }
        guard named.isEmpty, let scheme = origin.bytes.firstRange(of: Array("://".utf8)) else { return false }
        let host = origin.bytes[scheme.upperBound...]
        return Self.local.contains { local in
            host.starts(with: local.bytes)
                && (host.count == local.count || host[host.startIndex + local.count] == UInt8(ascii: ":"))
        }
    }
}
