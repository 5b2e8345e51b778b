import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// Sealed events, as handlers get them.
@Suite(.timeLimit(.minutes(2))) struct SealedEventTests {
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let other = [UInt8](repeating: 8, count: 32)

    private func seal(_ json: String, _ key: [UInt8] = key, kid: ByteString = "k1") throws -> String {
        let cipher = try #require(AuthenticatedCipher(key: Secret(key)))
        let sealed = SealedValue.seal(Array(json.utf8), as: kid, with: cipher)
        return #"{"event":"said","sealed":"\#(String(decoding: sealed, as: UTF8.self))"}"#
    }

    private func encoded(_ key: [UInt8]) -> String { String(decoding: Base64.encodeURL(key), as: UTF8.self) }

    @Test(
        "sealed events reach handlers opened, with keys from the options, a grant or the auth route",
        arguments: RoomServer.Kind.allCases
    )
    func opened(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let token = RoomServer.token("", room: "shop")
        let encoded = encoded(Self.key)
        let route = try ScriptedRoute { connection, _ in
            connection.answer(#"{"rooms":{"shop":{"token":"\#(token)","keys":{"k1":"\#(encoded)"}}}}"#)
        }
        let clients = [
            try server.client { options in
                options.keys = ["k1": Self.key]
                options.grants = ["shop": .init(token: token)]
            },
            try server.client { $0.grants = ["shop": .init(token: token, keys: ["k1": Self.key])] },
            try server.client { $0.auth = "http://127.0.0.1:\(route.port)/auth" },
        ]
        let heard = Heard()
        for client in clients {
            let room = client.join("shop")
            room.on("said") { data, meta in heard.add("\(data) \(meta.from ?? "server")") }
            try await room.ready()
        }
        try await server.publish("shop", try seal(#"{"text":"hello"}"#))
        try await eventually { heard.all == Array(repeating: #"{"text":"hello"} server"#, count: 3) }
        // What is read later and what is decoded is opened as well.
        for client in clients {
            let page = try await client.join("shop").history()
            #expect(page.events.map(\.data) == [["text": "hello"]])
            await client.close()
        }
    }

    @Test(
        "what cannot be opened is the error sealed, and reaches no handler; the next event does",
        arguments: RoomServer.Kind.allCases
    )
    func cannotOpen(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client { $0.keys = ["k1": Self.key] }
        let room = rt.join("order:1")
        let (said, errors) = (Heard(), Heard())
        room.onAny { event, data, _ in said.add("\(event) \(data)") }
        room.on("error") { error, _ in errors.add(error["code"]?.string ?? "") }
        try await room.ready()
        let whole = try seal("1")
        let mistakes = [
            try seal("1", Self.other), try seal("1", kid: "other"), #"{"event":"said","sealed":"no"}"#,
            #"{"event":"said","sealed":7}"#, whole.replacing(#""}"#, with: #"A"}"#),
            String(whole.dropLast(12)) + #""}"#,
        ]
        for mistake in mistakes { try await server.publish("order:1", mistake) }
        try await server.publish("order:1", whole)
        try await said.become(["said 1"])
        #expect(errors.all == Array(repeating: "sealed", count: mistakes.count))
        #expect(try await room.history().events.count == 1)
        await rt.close()
    }

    @Test(
        "keys are rotated: what comes under a new one opens once the auth route has given it with a new token",
        arguments: RoomServer.Kind.allCases
    )
    func rotated(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let keys = [
            #""k1":"\#(encoded(Self.key))""#, #""k1":"\#(encoded(Self.key))","k2":"\#(encoded(Self.other))""#,
        ]
        let route = try ScriptedRoute { connection, number in
            let token = RoomServer.token("ann", room: "own:1", life: number == 0 ? 2 : 3_600)
            connection.answer(#"{"rooms":{"own:1":{"token":"\#(token)","keys":{\#(keys[min(number, 1)])}}}}"#)
        }
        let rt = try server.client("ann") { $0.auth = "http://127.0.0.1:\(route.port)/auth" }
        let heard = Heard()
        let room = rt.join("own:1", heard.listen)
        try await room.ready()
        try await server.publish("own:1", try seal("1"))
        try await server.publish("own:1", try seal("2", Self.other, kid: "k2"))
        try await heard.become(["joined", "1", "error sealed"])
        try await eventually("the next token") { route.requests.count == 2 }
        // The answer is on its way; what is sealed with the new key opens from then on.
        try await eventually("the new key") {
            try await server.publish("own:1", try seal("3", Self.other, kid: "k2"))
            return heard.all.contains("3")
        }
        try await server.publish("own:1", try seal("4"))
        try await eventually { heard.all.last == "4" }
        #expect(heard.all.count { $0 == "joined" } == 1)
        await rt.close()
    }
}
