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
