import BridgeTestSupport
import RoomsRuntime
import RoomsTransport

extension TestTransport {
    /// Sends the request and waits for its end.
    func transfer(_ request: TransferRequest) async -> Result<TransferAnswer, TransportError> {
        let transport = transport
        let outcome = Lock<Result<TransferAnswer, TransportError>?>(nil)
        await withCheckedContinuation { continuation in
            loop.post {
                transport.transfer(request) { result in
                    outcome.withLock { $0 = result }
                    continuation.resume()
                }
            }
        }
        guard let result = outcome.withLock({ $0 }) else { preconditionFailure("resumed without an outcome") }
        return result
    }

    /// The error of a request that must fail.
    func failure(_ request: TransferRequest) async -> TransportError? {
        if case .failure(let error) = await transfer(request) { return error }
        return nil
    }
}

extension TransferRequest {
    /// A small request to a server of this machine.
    init(port: UInt16, _ body: String = "{}", scheme: String = "http", host: String = "127.0.0.1") throws {
        self.init(.post, try ServerURL(ByteString("\(scheme)://\(host):\(port)/auth")), body: Array(body.utf8))
    }
}

extension RawConnection {
    /// The next request: its head as text, and as much of a body as it says; nil at the end.
    func readRequest() -> (head: String, body: [UInt8])? {
        let head = readHead()
        guard !head.isEmpty else { return nil }
        let field = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
        let length = field.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
        return (head, read(exactly: length))
    }

    /// Answers with that status and body, and leaves the connection open.
    func answer(_ body: String = "", status: Int = 200) {
        write("HTTP/1.1 \(status) X\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)")
    }
}
