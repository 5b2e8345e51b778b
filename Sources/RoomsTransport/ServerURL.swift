package import RoomsRuntime

/// A `ws`, `wss`, `http` or `https` URL, taken apart strictly and as bytes; path and query are kept as given.
package struct ServerURL: Hashable, Sendable {
    package enum Scheme: String, Hashable, Sendable, CaseIterable {
        case ws
        case wss
        case http
        case https
    }

    package struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong and what would be right.
        package let message: String

        package var description: String { message }
    }

    package let scheme: Scheme
    /// An IPv6 address stands without its brackets.
    package let host: ByteString
    package let port: UInt16
    /// Path and query, at least "/".
    package let target: ByteString

    package init(_ text: ByteString) throws(Invalid) {
        var rest = text.bytes[...]
        if let bad = rest.first(where: { $0 <= 0x20 || $0 >= 0x7f }) {
            throw Invalid(
                message: bad >= 0x80
                    ? "a URL holds ASCII only: write other characters as %XX, or as xn-- in the host"
                    : "a URL has no spaces or control characters: write them as %XX"
            )
        }
        scheme = try Self.takeScheme(&rest)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        let authority = rest[..<(end ?? rest.endIndex)]
        let tail = rest[(end ?? rest.endIndex)...]
        guard !tail.contains(UInt8(ascii: "#")) else {
            throw Invalid(message: "a URL has no fragment here: leave out \"#\" and what follows")
        }
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw Invalid(message: "credentials do not belong in the URL: leave out what stands before \"@\"")
        }
        (host, port) = try Self.takeAuthority(authority, scheme)
        target = ByteString((tail.first == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + tail)
    }

    package var isSecure: Bool { scheme == .wss || scheme == .https }
    package var isWebSocket: Bool { scheme == .ws || scheme == .wss }

    /// The value of a `host` field: the port only when it is not the scheme's own.
    package var hostField: ByteString {
        let name = host.bytes.contains(UInt8(ascii: ":")) ? "[\(host.string)]" : host.string
        return ByteString(port == Self.defaultPort(scheme) ? name : "\(name):\(port)")
    }

    /// The whole URL, in a form that another `ServerURL` reads.
    package var text: ByteString { ByteString("\(scheme.rawValue)://\(hostField.string)\(target.string)") }

    package func streamTarget(tls: TLSSettings = TLSSettings(), proxy: String? = nil) -> StreamTarget {
        StreamTarget(host: host, port: port, security: isSecure ? .tls(tls) : .plain, proxy: proxy)
    }

    // MARK: parts

    /// What a host may hold; IPv6 addresses have colons.
    static func isHostByte(_ byte: UInt8) -> Bool {
        isNameByte(byte) || byte == UInt8(ascii: ":")
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func takeScheme(_ rest: inout ArraySlice<UInt8>) throws(Invalid) -> Scheme {
        for scheme in Scheme.allCases {
            let beginning = Array("\(scheme.rawValue)://".utf8)
            let isThere =
                rest.count >= beginning.count
                && zip(rest, beginning).allSatisfy { byte, expected in
                    (UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte) == expected
                }
            guard isThere else { continue }
            rest = rest.dropFirst(beginning.count)
            return scheme
        }
        throw Invalid(message: "the URL begins with ws://, wss://, http:// or https://")
    }

    private static func takeAuthority(
        _ authority: ArraySlice<UInt8>,
        _ scheme: Scheme
    ) throws(Invalid) -> (ByteString, UInt16) {
        let host: ArraySlice<UInt8>
        let tail: ArraySlice<UInt8>
        if authority.first == UInt8(ascii: "[") {
            guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else {
                throw Invalid(message: "an IPv6 address stands in brackets: [::1]")
            }
            host = authority[(authority.startIndex + 1)..<end]
            tail = authority[(end + 1)...]
            guard host.contains(UInt8(ascii: ":")), host.allSatisfy(isAddressByte) else {
                throw Invalid(message: "between \"[\" and \"]\" stands an IPv6 address: [::1]")
            }
        } else {
            let end = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
            host = authority[..<end]
            tail = authority[end...]
            guard !tail.dropFirst().contains(UInt8(ascii: ":")) else {
                throw Invalid(message: "an IPv6 address stands in brackets: [::1]")
            }
            guard !host.isEmpty else {
                throw Invalid(message: "the URL names no host: \(scheme.rawValue)://HOST:PORT/PATH")
            }
            guard host.count <= 253, host.allSatisfy(isNameByte) else {
                throw Invalid(message: "a host name has at most 253 letters, digits, \"-\", \"_\" and \".\"")
            }
        }
        guard let colon = tail.first else { return (ByteString(Array(host)), defaultPort(scheme)) }
        let digits = tail.dropFirst()
        guard colon == UInt8(ascii: ":"), (1...5).contains(digits.count),
            digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let port = UInt16(String(decoding: digits, as: UTF8.self)), port != 0
        else { throw Invalid(message: "a port is a number from 1 to 65535") }
        return (ByteString(Array(host)), port)
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "."): true
        default: false
        }
    }

    private static func defaultPort(_ scheme: Scheme) -> UInt16 {
        switch scheme {
        case .ws, .http: 80
        case .wss, .https: 443
        }
    }
}
