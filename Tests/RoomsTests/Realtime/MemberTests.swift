import BridgeTestSupport
import RoomsRuntime
import Testing

import Rooms

/// Who is in a room, who comes and goes, and who is made to go.
@Suite(.timeLimit(.minutes(2))) struct MemberTests {
    @Test("members: who is in, who comes and goes, and how many users that makes", arguments: RoomServer.Kind.allCases)
    func members(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let ann = try server.client("ann")
        let room = ann.join("hall:1")
        let heard = Heard()
        room.on("join") { who, _ in heard.add("join \(who["user"]?.string ?? "") \(who["client"]?.string != nil)") }
        room.on("leave") { who, _ in heard.add("leave \(who["user"]?.string ?? "") \(who["client"]?.string != nil)") }
        room.on("count") { count, _ in heard.add("count \(count["n"] ?? nil)") }
        try await room.ready()
        try await eventually { room.count == 1 && heard.all == ["count 1"] }
        #expect(room.members.map(\.user) == ["ann"] && room.members[0].info == nil)
        let bob = try server.client("bob")
        let bobsRoom = bob.join("hall:1")
        try await bobsRoom.ready()
        try await eventually { room.count == 2 && bobsRoom.count == 2 }
        #expect(Set(room.members.map(\.user)) == ["ann", "bob"] && room.members == bobsRoom.members)
        // The same user once more is a member, but no user more.
        let bobs = try server.client("bob")
        try await bobs.join("hall:1").ready()
        try await eventually { room.members.count == 3 }
        #expect(room.count == 2)
        // Somebody without a name counts.
        let nobody = try server.client()
        try await nobody.join("hall:1").ready()
        try await eventually { room.count == 3 }
        await nobody.close()
        try await eventually { room.count == 2 }
        bobsRoom.leave()
        await bobs.close()
        let all = [
            "count 1", "join bob true", "count 2", "join bob true", "join  true", "count 3", "leave  true", "count 2",
            "leave bob true", "leave bob true", "count 1",
        ]
        try await heard.become(all)
        #expect(room.count == 1 && bobsRoom.members.isEmpty && bobsRoom.count == 0)
        for client in [ann, bob] { await client.close() }
    }

    @Test("after a drop the members are those who are there now", arguments: RoomServer.Kind.allCases)
    func membersAfterDrop(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let link = try MovableLink(to: server.port)
        let ann = try server.client("ann", over: link)
        let room = ann.join("hall:1")
        let (bob, carol) = (try server.client("bob"), try server.client("carol"))
        for client in [bob, carol] { try await client.join("hall:1").ready() }
        try await room.ready()
        try await eventually { room.count == 3 }
        link.cut()
        try await eventually { room.state == .joining }
        await bob.close()
        link.mend()
        try await eventually { Set(room.members.map(\.user)) == ["ann", "carol"] && room.count == 2 }
        for client in [ann, carol] { await client.close() }
    }

    @Test("a room that knows no members has none", arguments: RoomServer.Kind.allCases)
    func noMembers(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let clients = try ["ann", "bob"].map { try server.client($0) }
        let room = clients[0].join("order:1")
        let heard = Heard(room)
        for name in ["join", "leave", "count"] { room.on(name) { _, _ in heard.add(name) } }
        try await room.ready()
        try await clients[1].join("order:1").ready()
        try await server.publish("order:1", "1")
        try await eventually { heard.all.last == "1" }
        #expect(room.members.isEmpty && room.count == 0 && heard.all == ["joined", "1"])
        for client in clients { await client.close() }
    }

    @Test(
        "who is kicked hears it, and does not come back by itself",
        arguments: RoomServer.Kind.allCases,
        ["unsubscribe", "4500", "3503"]
    )
    func kicked(_ kind: RoomServer.Kind, _ how: String) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client("ann")
        let (room, other) = (rt.join("order:1"), rt.join("order:2"))
        let (heard, others) = (Heard(room), Heard(other))
        for room in [room, other] { try await room.ready() }
        if let code = Int(how) {
            try await server.disconnect("ann", code: code)
        } else {
            try await server.unsubscribe("ann", "order:1")
        }
        try await heard.become(["joined", "kicked"])
        #expect(room.state == .failed)
        let error = await #expect(throws: RoomError.self) { try await room.ready() }
        #expect(error?.code == .kicked)
        #expect(rt.join("order:1") === room)
        if how == "unsubscribe" {
            // The other rooms stay.
            try await server.publish("order:2", "1")
            try await others.become(["joined", "1"])
        } else {
            try await others.become(["joined", "kicked"])
            #expect(other.state == .failed)
        }
        // The app may try again, and need not wait for that.
        room.leave()
        let again = rt.join("order:1")
        try await again.ready()
        #expect(heard.all == ["joined", "kicked"])
        await rt.close()
    }
}
