import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Against a server that does at random what servers do, each event is handed on once and in order, or lies in a gap.
@Suite struct NothingLostTests {
    @Test("nothing is lost silently, nothing comes twice, order holds", arguments: 0..<150 as Range<UInt64>)
    func nothingLost(seed: UInt64) {
        check(ServerModel(rooms: 3, seed: seed), seed)
    }

    @Test("the same where the server puts the client into rooms by itself", arguments: 0..<150 as Range<UInt64>)
    func roomsOfTheServer(seed: UInt64) {
        check(ServerModel(rooms: 3, seed: seed, choosesRooms: true), seed)
    }

    private func check(_ model: ServerModel, _ seed: UInt64) {
        var server = model
        for _ in 0..<400 { server.step() }
        server.calmDown()
        let isReady = server.bench.isReady
        #expect(isReady)
        for room in 0..<3 {
            let trouble = Account(server, room: room).trouble
            #expect(trouble == [], "seed \(seed), room \(room)")
        }
    }
}

/// What became of each event of one room.
private struct Account {
    var trouble: [String] = []

    init(_ server: ServerModel, room: Int) {
        var gaps: [RoomGap] = []
        var delivered: [String] = []
        var baseline: RoomPosition?
        var position: RoomPosition?
        var identities: Set<RoomPosition> = []
        for item in server.bench.items {
            switch item {
            case .joined(room, let now?, _):
                if baseline == nil { baseline = now }
                if let position, position != now, !position.epoch.isEmpty {
                    trouble.append("joined at \(now) not \(position)")
                }
                position = now
            case .event(room, let publication, let now?, _):
                if !identities.insert(now).inserted { trouble.append("two events are \(now)") }
                delivered.append(String(decoding: publication.data.array, as: UTF8.self))
                if now.offset != publication.offset { trouble.append("position \(now) of event \(publication.offset)") }
                if let position, now.epoch == position.epoch,
                    now.offset != position.next || now.incarnation != position.incarnation
                {
                    trouble.append("\(now) follows \(position)")
                }
                if let position, now.epoch != position.epoch, !position.epoch.isEmpty {
                    trouble.append("epoch without a gap")
                }
                position = now
            case .event(room, _, nil, _):
                trouble.append("an event without a position")
            case .gap(room, let gap, let now):
                gaps.append(gap)
                position = now
            default: break
            }
        }
        guard let baseline else {
            trouble.append("never joined")
            return
        }
        check(server.facts.filter { $0.room == room }, delivered, gaps, baseline)
    }

    private mutating func check(
        _ facts: [ServerModel.Fact],
        _ delivered: [String],
        _ gaps: [RoomGap],
        _ baseline: RoomPosition
    ) {
        if Set(delivered).count != delivered.count { trouble.append("something came twice") }
        let order = delivered.compactMap { Int($0) }
        if order != order.sorted() { trouble.append("order was lost") }
        let known = Set(delivered)
        // What the baseline covers was before our time.
        let start = facts.firstIndex { $0.epoch == baseline.epoch && $0.offset > baseline.offset } ?? facts.endIndex
        let firstEpoch = facts.firstIndex { $0.epoch == baseline.epoch } ?? facts.endIndex
        for fact in facts[max(start, firstEpoch)...] where !known.contains(fact.text) {
            let isDeclared = gaps.contains { gap in
                gap.epoch == fact.epoch && gap.from <= fact.offset && fact.offset <= gap.to ?? .max
            }
            // Whole streams that came and went while we were away leave no trace but the epoch change.
            if !isDeclared, !fact.isErased { trouble.append("lost \(fact.epoch.string)/\(fact.offset)") }
        }
    }
}
