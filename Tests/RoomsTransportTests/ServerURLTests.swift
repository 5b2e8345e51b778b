import RoomsRuntime
import RoomsTransport
import Testing

@Suite struct ServerURLTests {
    @Test(
        "A URL is taken apart",
        arguments: [
            ("ws://h", ServerURL.Scheme.ws, "h", 80, "/", "h"),
            ("wss://h/", .wss, "h", 443, "/", "h"),
            ("http://h:80/x", .http, "h", 80, "/x", "h"),
            ("https://h:8443", .https, "h", 8_443, "/", "h:8443"),
            ("WSS://Host.Example:443/A?b=%2f", .wss, "Host.Example", 443, "/A?b=%2f", "Host.Example"),
            (
                "ws://127.0.0.1:8000/connection/websocket?a=b", .ws, "127.0.0.1", 8_000, "/connection/websocket?a=b",
                "127.0.0.1:8000"
            ),
            ("ws://[::1]:9/x", .ws, "::1", 9, "/x", "[::1]:9"),
            ("wss://[2001:db8::1]", .wss, "2001:db8::1", 443, "/", "[2001:db8::1]"),
            ("ws://h?x=1", .ws, "h", 80, "/?x=1", "h"),
            ("ws://a_b-c.d:65535//x//", .ws, "a_b-c.d", 65_535, "//x//", "a_b-c.d:65535"),
        ] as [(String, ServerURL.Scheme, String, UInt16, String, String)]
    )
    func parts(text: String, scheme: ServerURL.Scheme, host: String, port: UInt16, target: String, field: String) throws
    {
        let url = try ServerURL(ByteString(text))
        #expect(url.scheme == scheme)
        #expect(url.host == ByteString(host))
        #expect(url.port == port)
        #expect(url.target == ByteString(target))
        #expect(url.hostField == ByteString(field))
        #expect(try ServerURL(url.text) == url)
    }

    @Test(
        "A URL that is none is refused, and the message says what would be right",
        arguments: [
            ("", "ws://"), ("h:80", "ws://"), ("ftp://h", "ws://"), ("ws:/h", "ws://"), (" ws://h", "spaces"),
            ("ws://", "no host"), ("ws:///x", "no host"), ("ws://:80", "no host"), ("ws://h:0", "1 to 65535"),
            ("ws://h:65536", "1 to 65535"), ("ws://h:", "1 to 65535"), ("ws://h:+8", "1 to 65535"),
            ("ws://h:8x", "1 to 65535"), ("ws://h:000080", "1 to 65535"), ("ws://u:p@h", "credentials"),
            ("ws://h/#x", "fragment"), ("ws://h#", "fragment"), ("ws://h/a b", "spaces"), ("ws://h/\r\nX: y", "spaces"),
            ("ws://h/\u{0}", "spaces"), ("ws://h\u{e9}/", "xn--"), ("ws://h/\u{e9}", "%XX"),
            ("ws://h%20x/", "host name"),
            ("ws://h,x/", "host name"), ("ws://[::1", "brackets"), ("ws://[]:1", "IPv6"), ("ws://[h]/", "IPv6"),
            ("ws://[::1]8", "1 to 65535"), ("ws://::1/", "brackets"),
            ("ws://" + String(repeating: "h", count: 254), "253"),
        ]
    )
    func refusals(text: String, hint: String) {
        let error = #expect(throws: ServerURL.Invalid.self) { try ServerURL(ByteString(text)) }
        #expect(error?.message.contains(hint) == true)
    }
}
