import RoomsHTTP
import RoomsRuntime
import Testing

@Suite struct RequestHeadTests {
    @Test("a head is the request line, the host and the fields in order")
    func writesHead() throws {
        var head = try RequestHead(method: "POST", target: "/hook?a=b", host: "localhost:8080")
        try head.add("content-type", "application/json")
        try head.add(foreign: "X-Team", "späte Schicht")
        head.add("content-length", number: 2)
        head.add("x-least", number: .min)
        head.end()
        head.append(body: Array("{}".utf8))
        let expected = """
            POST /hook?a=b HTTP/1.1\r
            host: localhost:8080\r
            content-type: application/json\r
            X-Team: späte Schicht\r
            content-length: 2\r
            x-least: -9223372036854775808\r
            \r
            {}
            """
        #expect(String(decoding: head.bytes, as: UTF8.self) == expected)
    }

    @Test("a head begins anew from a kept one")
    func restarts() throws {
        let beginning = try RequestHead(method: "POST", target: "/", host: "a")
        var head = RequestHead()
        for number in [1, 22] {
            head.restart(from: beginning)
            head.add("n", number: Int64(number))
            head.end()
            #expect(head.bytes == Array("POST / HTTP/1.1\r\nhost: a\r\nn: \(number)\r\n\r\n".utf8))
        }
    }

    @Test("no value can end its line", arguments: ["a\r\nb: c", "a\nb", "a\rb", "a\0b", "a\u{7f}", "\u{1b}[2J"])
    func refusesInjection(value: String) throws {
        var head = try RequestHead(method: "POST", target: "/", host: "a")
        let before = head.bytes
        #expect(throws: RequestError.self) { try head.add("x", ByteString(value)) }
        #expect(throws: RequestError.self) { try head.add(foreign: "x", ByteString(value)) }
        #expect(throws: RequestError.self) { try head.add(foreign: ByteString(value), "x") }
        #expect(throws: RequestError.self) { try RequestHead(method: "POST", target: ByteString(value), host: "a") }
        #expect(throws: RequestError.self) { try RequestHead(method: "POST", target: "/", host: ByteString(value)) }
        #expect(head.bytes == before)
    }

    @Test("names and targets are checked", arguments: ["", "a b", "a:b", "ä"])
    func checksNames(name: String) throws {
        var head = try RequestHead(method: "POST", target: "/", host: "a")
        #expect(throws: RequestError.self) { try head.add(foreign: ByteString(name), "x") }
    }

    @Test("a target has no blanks", arguments: ["", "/a b", "/a\tb"])
    func checksTarget(target: String) {
        #expect(throws: RequestError.self) { try RequestHead(method: "POST", target: ByteString(target), host: "a") }
    }
}
