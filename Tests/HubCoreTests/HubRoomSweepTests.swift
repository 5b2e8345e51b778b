import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// What the hub lets go as time passes.
@Suite struct HubRoomSweepTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    private func registry() -> RoomRegistry {
        var epochs = 0
        return RoomRegistry(
            rules: .configured([
                RoomRule(pattern: "kept:{id}", history: 5, keep: .seconds(60)), RoomRule(pattern: "live:{id}"),
            ]),
            makeEpoch: {
                epochs += 1
                return ByteString("epoch\(epochs)")
            }
        )
    }

    private func publish(
        _ registry: RoomRegistry,
        _ room: ByteString,
        key: ByteString = .empty,
        at now: Instant
    ) throws -> StreamPosition? {
        try registry.publish(Publication(data: Payload("1")), in: room, key: key, at: now)
    }

    @Test("publications go when their time is over, the position stays for a day, then the room goes")
    func rooms() throws {
        let registry = registry()
        for _ in 0..<3 { _ = try publish(registry, "kept:1", at: start) }
        #expect(registry.sweep(at: start + .seconds(59)) == 0)
        #expect(registry.sweep(at: start + .seconds(60)) == 3)
        let idle = start + .seconds(60)
        #expect(registry.sweep(at: idle + (RoomRegistry.streamKeep - .seconds(1))) == 0)
        #expect(registry.rooms["kept:1"]?.history?.position == StreamPosition(offset: 3, epoch: "epoch1"))
        #expect(registry.sweep(at: idle + RoomRegistry.streamKeep) == 1)
        #expect(registry.rooms.isEmpty)
        let position = try publish(registry, "kept:1", at: idle + RoomRegistry.streamKeep)
        #expect(position == StreamPosition(offset: 1, epoch: "epoch2"))
    }

    @Test("a publication within the day begins it anew")
    func used() throws {
        let registry = registry()
        _ = try publish(registry, "kept:1", at: start)
        registry.sweep(at: start + .seconds(60))
        let later = start + RoomRegistry.streamKeep
        #expect(try publish(registry, "kept:1", at: later) == StreamPosition(offset: 2, epoch: "epoch1"))
        registry.sweep(at: later + .seconds(1))
        registry.sweep(at: later + .seconds(60))
        registry.sweep(at: later + (.seconds(59) + RoomRegistry.streamKeep))
        #expect(registry.rooms.count == 1)
    }

    @Test("a room that keeps nothing is gone when nobody is in it")
    func live() throws {
        let registry = registry()
        #expect(try publish(registry, "live:1", at: start) == nil)
        #expect(registry.rooms.isEmpty)
    }

    @Test("what came of a publication with a key is known for five minutes, then forgotten")
    func outcomes() throws {
        let registry = registry()
        let first = try publish(registry, "kept:1", key: "a", at: start)
        #expect(try publish(registry, "live:1", key: "a", at: start) == nil)
        #expect(try publish(registry, "kept:1", key: "a", at: start + .seconds(299)) == first)
        #expect(try publish(registry, "kept:1", key: "a", at: start + .seconds(300))?.offset == 2)
        // The old time of the key has come, its new one has not.
        registry.sweep(at: start + .seconds(301))
        #expect(try publish(registry, "kept:1", key: "a", at: start + .seconds(599))?.offset == 2)
    }

    @Test("forgotten outcomes leave nothing behind")
    func outcomesShrink() {
        var outcomes = PublicationOutcomes()
        for round in 0..<10 {
            let now = start + .seconds(100 * round)
            for index in 0..<100 { outcomes.add(nil, of: ByteString("\(round).\(index)"), in: "room", at: now) }
            _ = outcomes.expire(at: now)
            #expect(outcomes.count <= 300)
        }
        #expect(outcomes.expire(at: start + .seconds(2_000)) == 300 && outcomes.count == 0)
    }
}
