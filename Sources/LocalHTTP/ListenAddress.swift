internal import Glibc
package import RoomsRuntime

/// Where a server listens: a literal IPv4 or IPv6 address and a port, `127.0.0.1:8000` or `[::1]:8000`.
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    package let host: ByteString
    package private(set) var port: UInt16
    private let isV6: Bool
    static let backlog: CInt = 1_024

    /// Nil unless `text` is such an address; `localhost` stands for 127.0.0.1, port 0 for any free one.
    package init?(_ text: ByteString) {
        guard let colon = text.bytes.lastIndex(of: UInt8(ascii: ":")) else { return nil }
        let digits = text.bytes[(colon + 1)...]
        guard (1...5).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(String(decoding: digits, as: UTF8.self))
        else { return nil }
        var host = Array(text.bytes[..<colon])
        isV6 = host.first == UInt8(ascii: "[") && host.last == UInt8(ascii: "]") && host.count > 2
        if isV6 { host = Array(host[1..<(host.count - 1)]) }
        if host == Array("localhost".utf8) { host = Array("127.0.0.1".utf8) }
        guard !host.contains(0) else { return nil }
        self.host = ByteString(host)
        self.port = port
        var scratch = in6_addr()
        guard inet_pton(isV6 ? AF_INET6 : AF_INET, self.host.string, &scratch) == 1 else { return nil }
    }

    package var isLoopback: Bool {
        isV6 ? host == "::1" : host.hasPrefix("127.")
    }

    package var description: String { with(port: port) }

    package func with(port: UInt16) -> String {
        isV6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The same host with the port that the system chose.
    package func at(port: UInt16) -> ListenAddress {
        var address = self
        address.port = port
        return address
    }

    /// A listening socket, and the port it got.
    fileprivate func listen() throws(ListenError) -> (descriptor: CInt, port: UInt16) {
        let descriptor = try reserve()
        guard Glibc.listen(descriptor, Self.backlog) == 0, let port = boundPort(descriptor) else {
            let code = errno
            close(descriptor)
            throw ListenError(self, code)
        }
        return (descriptor, port)
    }

    /// A socket that has the address and does not listen: whoever connects is refused.
    fileprivate func reserve() throws(ListenError) -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(isV6 ? AF_INET6 : AF_INET, kind, 0)
        guard descriptor >= 0 else { throw ListenError(self, errno) }
        var one: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        guard bound(descriptor) else {
            let code = errno
            close(descriptor)
            throw ListenError(self, code)
        }
        return descriptor
    }

    private func bound(_ descriptor: CInt) -> Bool {
        if isV6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            inet_pton(AF_INET6, host.string, &address.sin6_addr)
            return bind(descriptor, &address)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host.string, &address.sin_addr)
        return bind(descriptor, &address)
    }

    private func bind<Address>(_ descriptor: CInt, _ address: inout Address) -> Bool {
        withUnsafeBytes(of: &address) { bytes in
            guard let start = bytes.baseAddress else { return false }
            return Glibc.bind(descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
        }
    }

    private func boundPort(_ descriptor: CInt) -> UInt16? {
        var storage = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let result = withUnsafeMutableBytes(of: &storage) { bytes -> CInt in
            guard let start = bytes.baseAddress else { return -1 }
            return getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length)
        }
        // The port stands at the same place in both families.
        return result == 0 ? UInt16(bigEndian: storage.sin6_port) : nil
    }
}

extension ListenAddress: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) {
        guard let address = ListenAddress(ByteString(value)) else { preconditionFailure("\(value) is no address") }
        self = address
    }
}

/// A socket that listens, for a `HTTPServer` to take over.
package struct Listener: Sendable, CustomStringConvertible {
    package let address: ListenAddress
    /// The one it got, where the address left it open.
    package let port: UInt16
    let descriptor: CInt

    package init(_ address: ListenAddress) throws(ListenError) {
        self.address = address
        (descriptor, port) = try address.listen()
    }

    /// Listens on the port that was reserved.
    fileprivate init(_ reservation: PortReservation) throws(ListenError) {
        address = reservation.address
        port = reservation.address.port
        descriptor = reservation.descriptor
        guard Glibc.listen(descriptor, ListenAddress.backlog) == 0 else { throw ListenError(address, errno) }
    }

    package var description: String { address.with(port: port) }

    /// For one that no server took.
    package func close() {
        Glibc.close(descriptor)
    }
}

/// A port that is kept while nobody listens on it: connections to it are refused, and no other program gets it.
package struct PortReservation: Sendable {
    package let address: ListenAddress
    fileprivate let descriptor: CInt

    /// `address` names a port.
    package init(_ address: ListenAddress) throws(ListenError) {
        self.address = address
        descriptor = try address.reserve()
    }

    /// Ends the reservation, unless it fails.
    package func listen() throws(ListenError) -> Listener {
        try Listener(self)
    }

    package func close() {
        Glibc.close(descriptor)
    }
}

/// Why a server cannot listen.
package struct ListenError: Error, Equatable, CustomStringConvertible {
    package enum Code: Sendable {
        case addressInUse
        case notPermitted
        case addressUnknown
        case other
    }

    package let code: Code
    package let message: String

    package var description: String { message }

    init(_ address: ListenAddress, _ error: CInt) {
        switch error {
        case EADDRINUSE:
            code = .addressInUse
            message = "\(address): another program listens there; stop it or choose another port"
        case EACCES, EPERM:
            code = .notPermitted
            message = "\(address): this user may not listen there; choose a port above 1023"
        case EADDRNOTAVAIL:
            code = .addressUnknown
            message = "\(address): this machine has no such address"
        default:
            code = .other
            message = "\(address): cannot listen: \(String(cString: strerror(error)))"
        }
    }

    init(path: String, _ error: CInt) {
        switch error {
        case EADDRINUSE:
            code = .addressInUse
            message = "\(path): another program listens there; stop it or choose another path"
        case EEXIST:
            code = .addressInUse
            message = "\(path): is there and is no socket; remove it or choose another path"
        case EACCES, EPERM:
            code = .notPermitted
            message = "\(path): this user may not make a socket there"
        default:
            code = .other
            message = "\(path): cannot listen: \(String(cString: strerror(error)))"
        }
    }

    init(message: String) {
        code = .other
        self.message = message
    }
}
