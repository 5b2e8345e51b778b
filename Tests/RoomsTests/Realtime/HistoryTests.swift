import BridgeTestSupport
import RoomsRuntime
import Testing

import Rooms

/// Paging back in what a room keeps.
@Suite(.timeLimit(.minutes(2))) struct HistoryTests {
    @Test(
        "history comes oldest first, in pages of at most 100, and tells whether there is more",
        arguments: RoomServer.Kind.allCases
    )
    func pages(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client("ann")
        let room = rt.join("order:1")
        let nothing = try await room.history()
        #expect(nothing.events.isEmpty && !nothing.more)
        try await server.api.publish("order:1", (1...130).map { #"{"event":"n","data":\#($0)}"# })
        func numbers(_ page: HistoryPage) -> [Int] { page.events.compactMap { $0.data.integer() } }
        let newest = try await room.history(limit: 1_000)
        #expect(numbers(newest) == Array(31...130) && newest.more)
        #expect(numbers(try await room.history()) == Array(81...130))
        #expect(numbers(try await room.history(limit: 0)) == [130])
        #expect(numbers(try await room.history(limit: .min)) == [130])
        let older = try await room.history(before: newest.events.first?.meta.id, limit: 20)
        #expect(numbers(older) == Array(11...30) && older.more)
        let exactly = try await room.history(before: older.events.first?.meta.id, limit: 10)
        #expect(numbers(exactly) == Array(1...10) && !exactly.more)
        let oldest = try await room.history(before: older.events.first?.meta.id, limit: 50)
        #expect(numbers(oldest) == numbers(exactly) && !oldest.more)
        #expect(oldest.events.map(\.meta.id) == exactly.events.map(\.meta.id))
        #expect(oldest.events.allSatisfy { $0.meta.replayed && $0.event == "n" && $0.meta.from == nil })
        let none = try await room.history(before: oldest.events.first?.meta.id)
        #expect(none.events.isEmpty && !none.more)
        await rt.close()
    }

    @Test(
        "before an event that is kept no more there is nothing; what is no id is a bad request",
        arguments: RoomServer.Kind.allCases
    )
    func before(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client("ann")
        let room = rt.join("few:1")
        try await room.ready()
        try await server.api.publish("few:1", (1...9).map { "\($0)" })
        let all = try await room.history()
        #expect(all.events.map { "\($0.data)" } == ["7", "8", "9"] && !all.more)
        let epoch = all.events[0].meta.id.split(separator: ":")[0]
        for id in ["OtherEpo:9", "\(epoch):7", "\(epoch):3", "\(epoch):1", "\(epoch):0"] {
            let page = try await room.history(before: id)
            #expect(page.events.isEmpty && !page.more, "\(id)")
        }
        // An offset that is yet to come is behind all there is.
        let future = try await room.history(before: "\(epoch):\(UInt64.max)")
        #expect(future.events.isEmpty || future == all)
        for id in ["9", ":9", "\(epoch):", "\(epoch):-1", "\(epoch):18446744073709551616", "no id"] {
            let error = await #expect(throws: RoomError.self) { try await room.history(before: id) }
            #expect(error?.code == .badRequest, "\(id)")
        }
        await rt.close()
    }

    @Test(
        "a room that keeps nothing has no history, one that may not be read says so, one that is not joined why",
        arguments: RoomServer.Kind.allCases
    )
    func none(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client("ann")
        for (name, code) in [("live:1", "no_history"), ("closed:1", "forbidden"), ("nosuch:1", "no_rule")] {
            let error = await #expect(throws: RoomError.self) { try await rt.join(name).history() }
            #expect(error?.code.rawValue == code, "\(name)")
        }
        #expect(rt.room("live:1")?.state == .joined)
        let left = rt.join("order:1")
        left.leave()
        let error = await #expect(throws: RoomError.self) { try await left.history() }
        #expect(error?.code == .left)
        await rt.close()
    }

    @Test("an answer that comes when its connection is over is no answer", arguments: RoomServer.Kind.allCases)
    func lostAnswer(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        // What the server says to the second request never comes.
        let link = try MovableLink(to: server.port)
        let rt = try server.client(over: link)
        let room = rt.join("order:1")
        try await room.ready()
        link.hold()
        let asking = Task { try await room.history() }
        try await eventually("the request") { link.held > 0 }
        link.cut()
        let error = await #expect(throws: RoomError.self) { try await asking.value }
        #expect(error?.code == .unavailable)
        link.mend()
        try await server.publish("order:1", "1")
        try await eventually { try await room.history().events.count == 1 }
        await rt.close()
    }
}
