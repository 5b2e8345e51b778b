import BridgeTestSupport
import RoomsHTTP
import RoomsRuntime
import RoomsTransport
import Testing

/// What libcurl makes of the answers of the table; where it is something else than ours, the table says why.
@Suite(.timeLimit(.minutes(2)))
struct LibcurlVerdictTests {
    /// The one that the table was compared with, which is Debian 12's.
    static let isKnown = CurlLibrary.version.hasPrefix("7.88.")

    @Test("libcurl says the same of each answer, or the table says why not", .enabled(if: isKnown, "another libcurl"))
    func agrees() async throws {
        let transport = TransportLoop(name: "verdict-loop")
        transport.loop.start()
        defer {
            transport.loop.stop()
            transport.loop.join()
        }
        var wrong: [String] = []
        for answer in AnswerCase.table {
            let verdict = try await verdict(of: answer, transport)
            if let difference = answer.difference {
                if difference.verdict == answer.verdict {
                    wrong.append("\(answer.name): there is no difference to explain")
                }
                if difference.reason.isEmpty { wrong.append("\(answer.name): why is it different?") }
            }
            let expected = answer.difference?.verdict ?? answer.verdict
            if verdict != expected { wrong.append("\(answer.name): libcurl says \(verdict), the table \(expected)") }
        }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }

    /// A real transfer with a server that answers with just these bytes.
    private func verdict(of answer: AnswerCase, _ transport: TransportLoop) async throws -> AnswerCase.Verdict {
        let server = try RawServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.write(answer.bytes)
            // Until it has had enough.
            if !answer.closes { while !connection.read().isEmpty {} }
        }
        defer { server.stop() }
        // Where it waits for what never comes, it need not wait for long.
        let isOpen =
            answer.outcome.state == .head || answer.outcome.state == .body
            || !answer.closes && answer.difference?.verdict == .failure
        let url = try ServerURL(ByteString("http://127.0.0.1:\(server.port)/"))
        let request = TransferRequest(
            .post,
            url,
            body: Array("{}".utf8),
            timeout: isOpen ? .milliseconds(200) : .seconds(2),
            maxBody: 64 * 1024
        )
        let result = Lock<Result<TransferAnswer, TransportError>?>(nil)
        await withCheckedContinuation { continuation in
            transport.loop.post {
                transport.transfer(request) { outcome in
                    result.withLock { $0 = outcome }
                    continuation.resume()
                }
            }
        }
        guard case .success(let got) = result.withLock({ $0 }) else { return .failure }
        return .answer(got.status, String(decoding: got.body, as: UTF8.self))
    }
}
