import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import Rooms

/// Recovery while events are published without a pause.
@Suite struct RealPressureTests {
    @Test("published fast while the link breaks again and again: each event once, in order", arguments: Engine.allCases)
    func breaking(_ engine: Engine) async throws {
        guard let server = try await RealServer.started(engine) else { return }
        let scene = try RecoveryScene(server, rooms: ["deep:1", "deep:2", "deep:3"])
        try await scene.begin()
        let api = server.api
        let names = scene.names
        let isDone = Lock(false)
        async let publishing: Int = {
            var last = 3
            while !isDone.withLock({ $0 }) {
                for name in names { try await api.publish(name, numbers: (last + 1)...(last + 50)) }
                last += 50
            }
            return last
        }()
        for round in 0..<10 {
            try await scene.cut()
            scene.link.mend()
            let before = scene.items.count
            try await eventually("more events") { scene.items.count > before + 100 * (round % 3) }
        }
        isDone.withLock { $0 = true }
        let last = try await publishing
        for room in 0..<3 { try await scene.expectEvents(["event A/1-\(last)"], in: room) }
    }
}
