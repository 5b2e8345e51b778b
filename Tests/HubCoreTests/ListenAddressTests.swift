import LocalHTTP
import RoomsRuntime
import Testing

@Suite struct ListenAddressTests {
    @Test(
        "addresses and what becomes of them",
        arguments: [
            ("127.0.0.1:8000", "127.0.0.1:8000", true), ("127.9.9.9:1", "127.9.9.9:1", true),
            ("localhost:80", "127.0.0.1:80", true), ("[::1]:0", "[::1]:0", true),
            ("0.0.0.0:65535", "0.0.0.0:65535", false),
            ("[::]:80", "[::]:80", false), ("192.168.1.7:80", "192.168.1.7:80", false), ("127.0.0.1", nil, false),
            ("8000", nil, false), (":8000", nil, false), ("127.0.0.1:", nil, false), ("127.0.0.1:65536", nil, false),
            ("127.0.0.1:-1", nil, false), ("127.0.0.1: 1", nil, false), ("example.com:80", nil, false),
            ("::1:80", nil, false), ("[127.0.0.1]:80", nil, false), ("127.1:80", nil, false),
        ] as [(String, String?, Bool)]
    )
    func addresses(_ text: String, _ description: String?, _ isLoopback: Bool) {
        let address = ListenAddress(ByteString(text))
        #expect(address?.description == description)
        #expect(address?.isLoopback ?? false == isLoopback)
    }

    @Test("an address that is taken says so")
    func taken() throws {
        let first = try Listener("127.0.0.1:0")
        defer { first.close() }
        let error = #expect(throws: ListenError.self) {
            _ = try Listener(try #require(ListenAddress(ByteString(first.description))))
        }
        #expect(error?.code == .addressInUse && error?.message.contains(first.description) == true)
    }
}
