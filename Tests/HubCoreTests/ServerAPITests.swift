import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// The server API as an HTTP server; what its methods do is in the conformance tests.
@Suite struct ServerAPITests {
    @Test("requests one after another on a connection, in pieces, chunked, and large")
    func http() throws {
        let hub = try RunningHub()
        let client = try SocketClient(port: hub.port)
        let head = "POST /api/publish HTTP/1.1\r\nHost: hub\r\nX-API-Key: api-key-for-tests\r\n"
        let body = #"{"channel":"live:1","data":1}"#
        try client.send(Array((head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body).utf8))
        let pieces = [
            head, "Transfer-Encoding: chunked\r\n\r\n", "5\r\n\(body.prefix(5))\r\n",
            "18\r\n\(body.dropFirst(5))\r\n0\r\n\r\n",
        ]
        for piece in pieces { try client.send(Array(piece.utf8)) }
        let large = #"{"channel":"order:1","data":"\#(String(repeating: "x", count: 3 << 20))"}"#
        try client.send(
            Array((head + "Connection: close\r\nContent-Length: \(large.utf8.count)\r\n\r\n" + large).utf8)
        )
        let text = String(decoding: try client.readToEnd(), as: UTF8.self)
        #expect(text.matches(of: /HTTP\/1.1 200 OK/).count == 3)
        #expect(text.matches(of: /{"result":{}}/).count == 2)
        #expect(text.contains(#"{"result":{"offset":1,"#))
    }

    @Test("a body larger than the limit is refused before it is read")
    func tooLarge() throws {
        let hub = try RunningHub()
        let client = try SocketClient(port: hub.port)
        try client.send(Array("POST /api/publish HTTP/1.1\r\nHost: hub\r\nContent-Length: 99999999999\r\n\r\n".utf8))
        #expect(String(decoding: try client.read(), as: UTF8.self).hasPrefix("HTTP/1.1 413 "))
    }
}
