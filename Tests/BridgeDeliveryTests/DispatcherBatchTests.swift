import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeDelivery

/// Batches over real connections.
@Suite(.timeLimit(.minutes(1))) struct DispatcherBatchTests {
    private static let type = "content-type: application/vnd.roombridge.batch-result+json\r\n"

    /// The first request is held until all is there, the second is the batch that `answer` is for.
    private func run(_ answer: ScriptedReceiver.Answer, count: Int = 10) async throws -> [String] {
        let receiver = try ScriptedReceiver { request in
            switch request.seqs {
            case "1-1": .hold
            case "2-\(count)" where request.attempt == 1: answer
            default: .ok
            }
        }
        let rig = DeliveryRig(port: receiver.port) {
            $0.batch = BatchLimits(maxEvents: 1_000)
            $0.timeouts.total = .seconds(1)
        }
        rig.publish()
        try await eventually("the first request") { receiver.requests.count == 1 }
        rig.publish(count: count - 1)
        await rig.turn()
        receiver.release()
        try await rig.settleAll()
        await rig.stop()
        receiver.stop()
        return receiver.requests.dropFirst().map(\.seqs)
    }

    @Test(
        "a report that is declared and does not come in full acknowledges nothing",
        arguments: [
            ScriptedReceiver.Answer.sendThenClose("HTTP/1.1 200 X\r\n\(type)content-length: 50\r\n\r\n{\"acked\":9}"),
            .sendThenReset("HTTP/1.1 200 X\r\n\(type)content-length: 50\r\n\r\n{\"acked\":9}"),
            .send("HTTP/1.1 200 X\r\n\(type)content-length: 50\r\n\r\n{\"acked\":9}"),
            .send("HTTP/1.1 200 X\r\n\(type)transfer-encoding: chunked\r\n\r\n5\r\n{\"ack\r\nzz"),
            .sendForEver("HTTP/1.1 200 X\r\n\(type)content-length: 2000000\r\n\r\n", " "),
        ]
    )
    func incomplete(answer: ScriptedReceiver.Answer) async throws {
        let seqs = try await run(answer)
        #expect(seqs.first == "2-10" && seqs.dropFirst().first == "2-2")
    }

    @Test(
        "without the declaration a good head is enough",
        arguments: [
            ScriptedReceiver.Answer.sendThenClose("HTTP/1.1 200 X\r\ncontent-length: 50\r\n\r\n{\"acked\":0}"),
            .sendForEver("HTTP/1.1 200 X\r\n\r\n", "x"),
        ]
    )
    func naive(answer: ScriptedReceiver.Answer) async throws {
        #expect(try await run(answer) == ["2-10"])
    }

    @Test("a part is acknowledged: the rest follows")
    func prefix() async throws {
        let answer = ScriptedReceiver.Answer.send("HTTP/1.1 207 X\r\ncontent-length: 11\r\n\r\n{\"acked\":4}")
        #expect(try await run(answer) == ["2-10", "6-10"])
    }

    @Test("a report of nearly a mebibyte is read")
    func large() async throws {
        let body = "{\"acked\":4}" + String(repeating: " ", count: 1_000_000)
        let answer = ScriptedReceiver.Answer.send("HTTP/1.1 200 X\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(try await run(answer) == ["2-10", "6-10"])
    }
}

extension ScriptedReceiver.Request {
    /// The range of a batch.
    fileprivate var seqs: String { fields["roombridge-seq"] ?? "" }
}
