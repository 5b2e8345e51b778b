internal import Glibc

/// A blocking HTTP/1.1 client on one kept connection, just enough to publish and to ask the sink for its count.
final class PlainClient {
    private let descriptor: CInt
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    init(port: UInt16) {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
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

    /// The answer's body; the answer must have a content-length.
    private func exchange(_ request: [UInt8]) -> String {
        var sent = 0
        while sent < request.count {
            let count = request[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            guard count > 0 else { fail("the server hung up") }
            sent += count
        }
        var answer: [UInt8] = []
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { fail("the server hung up") }
            answer += buffer[0..<count]
            let text = String(decoding: answer, as: UTF8.self)
            guard let end = text.utf8Range(of: "\r\n\r\n") else { continue }
            let head = text[..<end.lowerBound].lowercased()
            guard head.hasPrefix("http/1.1 200"), let length = Self.contentLength(head) else {
                fail("odd answer: \(text)")
            }
            let body = text[end.upperBound...]
            if body.utf8.count >= length { return String(body) }
        }
    }

    private static func contentLength(_ head: String) -> Int? {
        head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst("content-length:".count).drop { $0 == " " }) }
    }
}

extension String {
    /// The first place of `needle`, by bytes.
    fileprivate func utf8Range(of needle: String) -> Range<String.Index>? {
        let bytes = Array(needle.utf8)
        var index = utf8.startIndex
        while index < utf8.endIndex {
            if utf8[index...].starts(with: bytes) { return index..<utf8.index(index, offsetBy: bytes.count) }
            index = utf8.index(after: index)
        }
        return nil
    }
}
