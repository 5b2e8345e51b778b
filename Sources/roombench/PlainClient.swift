internal import Glibc
internal import RoomsHTTP

/// A blocking HTTP/1.1 client on one kept connection, just enough to publish and to ask the sink for its count.
final class PlainClient {
    private let descriptor: CInt
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    init(port: UInt16) {
        descriptor = openConnection(port: port)
    }

    deinit { close(descriptor) }

    func get(_ target: String) -> String {
        exchange(Array("GET \(target) HTTP/1.1\r\nhost: localhost\r\n\r\n".utf8))
    }

    func post(_ target: String, key: String, body: [UInt8]) -> String {
        let head =
            "POST \(target) HTTP/1.1\r\nhost: localhost\r\nx-api-key: \(key)\r\n"
            + "content-type: application/json\r\ncontent-length: \(body.count)\r\n\r\n"
        return exchange(Array(head.utf8) + body)
    }

    /// The answer's body.
    private func exchange(_ request: [UInt8]) -> String {
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { fail("the server hung up") }
            sent += count
        }
        var decoder = ResponseDecoder()
        while decoder.state != .complete {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { fail("the server hung up") }
            _ = buffer.withUnsafeBytes { decoder.decode(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            if case .failed(let error) = decoder.state { fail("odd answer: \(error)") }
        }
        let body = String(decoding: decoder.body, as: UTF8.self)
        guard decoder.status == 200 else { fail("the server answers \(decoder.status ?? 0): \(body.prefix(300))") }
        return body
    }
}

/// A blocking connection to this machine, without delays.
func openConnection(port: UInt16) -> CInt {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard result == 0 else { fail("nothing listens on 127.0.0.1:\(port)") }
    var one: CInt = 1
    setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
    return descriptor
}
