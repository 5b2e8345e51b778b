package import RoomsRuntime

/// What a handler answers: a whole body, or "the socket is yours".
package struct HTTPResponse {
    enum Kind {
        case body([UInt8])
        case upgrade((UpgradedSocket) -> Void)
        case later((@escaping (HTTPResponse) -> Void) -> Void)
    }

    package let status: UInt32
    package let headers: [(name: ByteString, value: ByteString)]
    let kind: Kind

    package init(status: UInt32, headers: [(name: ByteString, value: ByteString)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        kind = .body(body)
    }

    /// 101: `accept` gets the socket once the head was sent.
    package init(
        upgradeTo protocolName: ByteString,
        headers: [(name: ByteString, value: ByteString)],
        accept: @escaping (UpgradedSocket) -> Void
    ) {
        status = 101
        self.headers = [("Upgrade", protocolName)] + headers
        kind = .upgrade(accept)
    }

    /// Comes later: `start` is called at once and gets what takes the answer, on the server's loop.
    ///
    /// Other requests go on meanwhile; where the server stops before, its answer is 503.
    package init(later start: @escaping (@escaping (HTTPResponse) -> Void) -> Void) {
        status = 0
        headers = []
        kind = .later(start)
    }

    package static func json(_ body: [UInt8], status: UInt32 = 200) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")], body: body)
    }

    package static func text(_ text: String, status: UInt32) -> HTTPResponse {
        let headers: [(name: ByteString, value: ByteString)] = [("Content-Type", "text/plain; charset=utf-8")]
        return HTTPResponse(status: status, headers: headers, body: Array(text.utf8))
    }
}
