import BridgeModel
import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

/// A receiver that ends kept connections whenever it likes.
@Suite(.timeLimit(.minutes(2))) struct KeepAliveRaceTests {
    /// How a connection goes on behind an answer.
    private enum Mood: Int, CaseIterable {
        case stays
        /// Together with the answer.
        case endsAtOnce
        /// Some moments later: before, while or after the next request is written.
        case endsSoon
        /// As soon as the next request is there, without reading any of it.
        case endsUnread
        /// After some bytes of the next request.
        case endsInHead
        /// Between two requests, once nothing has come for a while.
        case endsIdle
    }

    @Test(
        "whenever a used connection ends, no attempt is burned, nothing comes twice and nothing is lost",
        arguments: [1, 2, 3, 4, 5, 6] as [UInt64],
        [false, true]
    )
    func burnsNothing(seed: UInt64, isUnix: Bool) async throws {
        let folder = try TemporaryDirectory()
        let path = isUnix ? folder.file("receiver.sock") : nil
        let random = Lock(SeededRandom(seed: seed))
        let moods = Lock<[Mood: Int]>([:])
        let receiver = try RawReceiver(unixPath: path) { peer in
            while peer.read() != nil {
                let (mood, isReset, delay) = random.withLock { random in
                    (
                        Mood.allCases.randomElement(using: &random) ?? .stays, Bool.random(using: &random),
                        Duration.microseconds(Int.random(in: 0...400, using: &random))
                    )
                }
                moods.withLock { $0[mood, default: 0] += 1 }
                peer.connection.answer()
                switch mood {
                case .stays: continue
                case .endsAtOnce: break
                case .endsSoon: spin(delay)
                case .endsUnread: guard peer.connection.hasInput(within: .seconds(20)) else { return }
                case .endsInHead: _ = peer.connection.read(exactly: 40)
                case .endsIdle: if peer.connection.hasInput(within: .milliseconds(2)) { continue }
                }
                return isReset ? peer.connection.reset() : peer.connection.close()
            }
        }
        let target = path.map { StreamTarget(unixPath: ByteString($0)) }
        let rig = DeliveryRig(target ?? StreamTarget(host: "127.0.0.1", port: receiver.port)) { $0.concurrency = 4 }
        // Now and then everything is settled, and all connections idle.
        for round in 0..<40 {
            for _ in 0..<(round % 4 == 0 ? 1 : 5) { for room in 1...6 { rig.publish(room: Int64(room)) } }
            try await rig.settleAll()
        }
        await rig.stop()
        for room in 1...6 {
            let requests = receiver.requests.filter { $0.room == "room:\(room)" }
            #expect(requests.map(\.seq) == Array(1...160), "room \(room)")
        }
        #expect(Set(receiver.requests.map(\.attempt)) == [1])
        #expect(receiver.requests.allSatisfy { $0.isWhole })
        #expect(rig.lines.lines.isEmpty)
        for mood in Mood.allCases { #expect(moods.withLock { $0[mood] ?? 0 } > 10) }
        receiver.stop()
    }
}
