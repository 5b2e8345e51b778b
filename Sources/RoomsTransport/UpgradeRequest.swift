internal import RoomsHTTP
internal import RoomsRuntime
internal import RoomsWebSocket

/// The client's side of the opening handshake (RFC 6455 section 4.1): what is sent, and whether the answer will do.
struct UpgradeRequest {
    static let limits = ResponseLimits(headBytes: 16 * 1024, headerLines: 64, bodyBytes: 0)

    private static let ownFields: Set<ByteString> = [
        "host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version", "sec-websocket-protocol",
        "sec-websocket-extensions", "content-length", "transfer-encoding",
    ]

    /// The request as sent.
    let bytes: [UInt8]
    private let key: ByteString
    private let subprotocol: ByteString?

    init(
        _ url: ServerURL,
        subprotocol: ByteString?,
        headers: [HTTPHeader],
        key: ByteString = WebSocketHandshake.makeKey()
    ) throws(TransportError) {
        self.key = key
        self.subprotocol = subprotocol
        if let own = headers.first(where: { Self.ownFields.contains(Self.lowerCased($0.name)) }) {
            throw TransportError(.invalidTarget, "the header \(own.name) is set by the client itself")
        }
        do throws(RequestError) {
            var head = try RequestHead(method: "GET", target: url.target, host: url.hostField)
            try head.add("upgrade", "websocket")
            try head.add("connection", "Upgrade")
            try head.add("sec-websocket-key", key)
            try head.add("sec-websocket-version", "13")
            if let subprotocol { try head.add("sec-websocket-protocol", subprotocol) }
            for header in headers {
                try head.add(foreign: header.name, ByteString(header.value.bytes))
            }
            head.end()
            bytes = head.bytes
        } catch {
            throw TransportError(.invalidTarget, error.message)
        }
    }

    /// What is wrong with a complete answer; nil when the WebSocket is open.
    func flaw(in head: ResponseHead) -> WebSocketEnd? {
        guard head.status == 101 else { return .refused(status: head.status) }
        guard let upgrade = head.first("upgrade"), Self.lowerCased(upgrade) == "websocket" else {
            return violation("the server's answer upgrades to something other than websocket")
        }
        guard values(of: "connection", in: head).contains("upgrade") else {
            return violation("the server's answer has no \"connection: upgrade\"")
        }
        let accepted = head.headers.filter { $0.name == "sec-websocket-accept" }.map(\.value)
        guard accepted == [WebSocketHandshake.acceptValue(for: key)] else {
            return violation("the server's sec-websocket-accept does not answer our key")
        }
        guard head.first("transfer-encoding") == nil, ["0", nil].contains(head.first("content-length")) else {
            return violation("the server's answer has a body")
        }
        guard head.first("sec-websocket-extensions") == nil else {
            return violation("the server uses an extension that nobody offered")
        }
        let chosen = head.headers.filter { $0.name == "sec-websocket-protocol" }.map(\.value)
        guard chosen == [subprotocol].compactMap({ $0 }) else { return .failed(wrongSubprotocol(chosen)) }
        return nil
    }

    private func wrongSubprotocol(_ chosen: [ByteString]) -> TransportError {
        guard let subprotocol else {
            return TransportError(.wrongSubprotocol, "the server chose a subprotocol that nobody offered")
        }
        let answer = chosen.first.map { "it chose \"\(ByteString(Array($0.bytes.prefix(64))))\"" } ?? "it chose none"
        return TransportError(.wrongSubprotocol, "the server does not speak \(subprotocol): \(answer)")
    }

    private func violation(_ message: String) -> WebSocketEnd {
        .failed(TransportError(.protocolViolation, message))
    }

    /// The elements of a list field, in lower case.
    private func values(of name: ByteString, in head: ResponseHead) -> [ByteString] {
        head.headers.filter { $0.name == name }.flatMap { field in
            field.value.bytes.split(separator: UInt8(ascii: ",")).map { item in
                Self.lowerCased(ByteString(item.filter { $0 != 0x20 && $0 != 0x09 }))
            }
        }
    }

    private static func lowerCased(_ text: ByteString) -> ByteString {
        ByteString(text.bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 })
    }
}
