import BridgeTestSupport
import HubCore
import RoomsRuntime
import Testing

import Rooms

/// One client in ten thousand rooms.
@Suite struct ManyRoomsTests {
    /// Instrumented code is ten times slower, and commands are only waited for so long.
    private static let connections = Sanitizer.isLoaded ? 10 : 100
    private static let count = connections * 100

    private func hub(connectionLimit: Int = 0) throws -> TestHub {
        try TestHub { configuration in
            configuration.auth = .standard
            configuration.session.userConnectionLimit = connectionLimit
            configuration.rooms = .configured([
                RoomRule(pattern: "order:{id}", history: 5, presence: true, membersMay: [.presence])
            ])
        }
    }

    private func client(_ hub: TestHub) throws -> Realtime {
        var options = RealtimeOptions()
        // Refuses requests for more than 1,000 rooms.
        options.auth = "http://127.0.0.1:\(hub.port)/auth"
        options.headers = { ["Authorization": "Bearer alice"] }
        return try Realtime(url: "ws://127.0.0.1:\(hub.port)/connection/websocket", options: options)
    }

    @Test("10,000 rooms are joined over 100 connections, the same ones after a restart, and each hears its event")
    func joined() async throws {
        let hub = try hub()
        for round in 1...2 {
            let client = try client(hub)
            let heard = Lock<Set<String>>([])
            let rooms = (0..<Self.count).map { number in
                let room = client.join("order:\(number)")
                room.on("updated") { data, _ in heard.withLock { _ = $0.insert("\(room.name) \(data)") } }
                return room
            }
            for room in rooms { try await room.ready() }
            try await eventually(within: .seconds(120), "members") { rooms.allSatisfy { !$0.members.isEmpty } }

            let connections = rooms.map { $0.members.map(\.client) }
            #expect(connections.allSatisfy { $0.count == 1 })
            #expect(Set(connections).count == Self.connections)
            for first in stride(from: 0, to: Self.count, by: 100) {
                #expect(Set(connections[first..<first + 100]).count == 1, "the rooms from \(first) on, round \(round)")
            }

            for first in stride(from: 0, to: Self.count, by: 500) {
                try await hub.api.publishToEach(
                    (first..<first + 500).map { ("order:\($0)", #"{"event":"updated","data":\#($0)}"#) }
                )
            }
            try await eventually(within: .seconds(120), "an event in each room") {
                heard.withLock { $0.count } == Self.count
            }
            #expect(heard.withLock { $0 } == Set((0..<Self.count).map { "order:\($0) \($0)" }))
            await client.close()
        }
    }
    @Test(
        "a user who may have 10 connections gets 128 rooms on each; the others fail clearly, and nothing joined is stopped"
    )
    func connectionLimit() async throws {
        let limit = Self.connections / 10
        let hub = try hub(connectionLimit: limit)
        let client = try client(hub)
        let said = Lock<[String: [String]]>([:])
        let rooms = (0..<Self.count).map { number in
            let room = client.join("order:\(number)")
            for event in ["joined", "error", "updated"] {
                room.on(event) { data, _ in
                    said.withLock { $0[room.name, default: []].append(data["code"]?.string ?? event) }
                }
            }
            return room
        }
        try await eventually(within: .seconds(120), "all joined or refused") {
            rooms.allSatisfy { $0.state != .joining }
        }
        let joined = rooms.filter { $0.state == .joined }
        #expect(joined.count == limit * 128)
        try await hub.api.publishToEach(joined.map { ($0.name, #"{"event":"updated","data":{}}"#) })
        try await eventually(within: .seconds(120), "events") {
            said.withLock { said in joined.allSatisfy { said[$0.name] == ["joined", "updated"] } }
        }
        for room in rooms where room.state == .failed {
            #expect(said.withLock { $0[room.name] } == ["full"])
        }
        #expect(rooms.count { $0.state == .failed } == Self.count - joined.count)
        await client.close()
    }
}
