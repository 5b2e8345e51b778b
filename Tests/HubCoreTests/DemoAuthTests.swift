import Foundation
import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// The demo auth route: what it grants, to whom, and that the hub takes its tokens and no others.
@Suite struct DemoAuthTests {
    private static let noon = Conversation.start

    private let hub: HubState
    private let auth: DemoAuth

    init() throws {
        var membersOnly = RoomRule(pattern: "lounge", isPublic: true)
        membersOnly.admitsAnonymous = false
        hub = HubState(
            rules: HubConfiguration.standard.rooms.all + [
                membersOnly, RoomRule(pattern: "news:{x}", isPublic: true), RoomRule(pattern: "$paid", isPublic: true),
            ]
        )
        var settings = DemoAuthSettings.standard
        settings.users.append(
            .init(name: "carol", bearer: Secret("hush"), rooms: [try RoomPattern("chat:{user}:{x}", user: "carol")])
        )
        settings.tokenLife = .seconds(60)
        auth = DemoAuth(settings, key: TokenKey(Conversation.secret), registry: hub.registry)
    }

    /// What a room became: its error, or "token".
    private func outcome(_ room: String, _ authorization: ByteString?) throws -> ByteString {
        let answer = try ask(#"{"rooms":["\#(room)"]}"#, authorization)
        let members = try #require(answer["rooms"]?.members)
        try #require(members.count == 1 && members[0].key == ByteString(room))
        return members[0].value["error"]?.string ?? (members[0].value["token"] == nil ? "nothing" : "token")
    }

    private func ask(_ body: String, _ authorization: ByteString? = nil) throws -> JSONNode {
        let bytes = try auth.tokens(Array(body.utf8), authorization: authorization, at: Self.noon)
        return try JSONDocument.parse(bytes).root
    }

    private func token(for room: String, _ user: ByteString?) throws -> ByteString {
        let answer = try ask(#"{"rooms":["\#(room)"]}"#, user.map { ByteString(Array("Bearer ".utf8) + $0.bytes) })
        return try #require(answer["rooms"]?[ByteString(room)]?["token"]?.string)
    }

    private func claims(_ token: ByteString) -> JSONNode? {
        TokenKey(Conversation.secret).claims(of: token)
    }

    @Test(
        "who may join what",
        arguments: [
            ("order:1042", "Bearer alice", "token"), ("order:1042", nil, "forbidden"),
            ("order:1042", "bearer  bob", "token"), ("order:1042", "Bearer hush", "forbidden"),
            ("chat:alice:bob", "Bearer alice", "token"), ("chat:alice:bob", "Bearer bob", "token"),
            ("chat:alice:bob", "Bearer hush", "forbidden"), ("chat:carol:x", "Bearer hush", "token"),
            ("chat:carolx:x", "Bearer hush", "forbidden"), ("chat:x:carol", "Bearer hush", "forbidden"),
            ("chat:bob:carol", "Bearer alice", "forbidden"), ("chat:alice", "Bearer alice", "no_rule"),
            ("x:1", "Bearer alice", "no_rule"), ("x:1", nil, "no_rule"), ("", "Bearer alice", "no_rule"),
            ("shop", "Bearer alice", "token"), ("shop", nil, "token"), ("news:1", nil, "token"),
            ("lounge", "Bearer alice", "token"), ("lounge", nil, "forbidden"),
            ("$paid", nil, "forbidden"), ("$paid", "Bearer alice", "forbidden"),
            ("news:" + String(repeating: "n", count: 250), nil, "token"),
            ("news:" + String(repeating: "n", count: 251), nil, "bad_request"),
        ] as [(String, ByteString?, ByteString)]
    )
    func verdicts(_ room: String, _ authorization: ByteString?, _ expected: ByteString) throws {
        #expect(try outcome(room, authorization) == expected)
    }

    @Test(
        "a bearer that is no user's is refused as a whole",
        arguments: ["Bearer carol", "Bearer ", "Basic alice", "", "alice"]
    )
    func wrongBearer(_ authorization: String) throws {
        let authorization = ByteString(authorization)
        #expect(throws: DemoAuthFault.unauthorized) { try ask(#"{"rooms":["shop"]}"#, authorization) }
        #expect(throws: DemoAuthFault.unauthorized) {
            try auth.config(host: "hub", authorization: authorization, at: Self.noon)
        }
    }

    @Test("many rooms are answered in their order, each once, with the user's and the hub's times in the tokens")
    func manyRooms() throws {
        let answer = try ask(
            #"{"rooms":["order:2","x:1","order:1","order:2","ord\u0065r:1"],"connection":true,"more":[]}"#,
            "Bearer alice"
        )
        let rooms = try #require(answer["rooms"]?.members)
        #expect(rooms.map(\.key) == ["order:2", "x:1", "order:1"])
        let order = try #require(rooms[0].value["token"]?.string.flatMap(claims))
        #expect(order.raw == Array(#"{"sub":"alice","channel":"order:2","exp":1060,"iat":1000}"#.utf8))
        let connection = try #require(answer["connection"]?.string.flatMap(claims))
        #expect(connection.raw == Array(#"{"sub":"alice","exp":1060,"iat":1000}"#.utf8))
    }

    @Test("nobody gets tokens of public rooms without a user in them, and no connection token")
    func anonymous() throws {
        let answer = try ask(#"{"rooms":["shop"],"connection":true}"#)
        #expect(answer["connection"] == nil)
        let shop = try #require(answer["rooms"]?["shop"]?["token"]?.string.flatMap(claims))
        #expect(shop.raw == Array(#"{"channel":"shop","exp":1060,"iat":1000}"#.utf8))
        #expect(try ask(#"{"connection":true}"#).raw == Array(#"{"rooms":{}}"#.utf8))
    }

    @Test(
        "what is wrong with a request, where, and what would be right",
        arguments: [
            ("", "1:1: "), ("{", "1:2: "), ("[]", #"1:1: is not an object, write {"rooms":["order:1042"]}"#),
            ("{}", #"1:1: asks for nothing, write {"rooms":["order:1042"]}"#),
            (#"{"rooms":"shop"}"#, #"1:10: rooms: is not a list, write ["order:1042"]"#),
            (#"{"rooms":["shop",7]}"#, #"1:18: rooms[1]: is not a string, write "order:1042""#),
            ("{\n\"connection\":1}", "2:14: connection: is not a boolean, write true or false"),
            (
                #"{"rooms":[\#(Array(repeating: #""a""#, count: 1_001).joined(separator: ","))]}"#,
                "1:10: rooms: has 1001 names, ask for at most 1000 at a time"
            ),
        ]
    )
    func badRequest(_ body: String, _ start: String) throws {
        do throws(DemoAuthFault) {
            _ = try DemoAuthRequest(Array(body.utf8))
            Issue.record("taken: \(body)")
        } catch {
            #expect(error.status == 400 && error.code == "bad_request" && error.message.hasPrefix(start), "\(error)")
        }
    }

    @Test("a thousand rooms are one request")
    func thousand() throws {
        let names = (1...1_000).map { "\"order:\($0)\"" }.joined(separator: ",")
        let answer = try ask(#"{"rooms":[\#(names)]}"#, "Bearer bob")
        let rooms = try #require(answer["rooms"]?.members)
        #expect(rooms.count == 1_000 && rooms.allSatisfy { $0.value["token"] != nil })
    }

    // MARK: the tokens in the hub

    @Test("a granted room is joined, for as long as the token says")
    func accepted() throws {
        let alice = try Conversation.connected(hub, as: "alice")
        let chatToken = try token(for: "chat:alice:bob", "alice")
        let result = try alice.joined("chat:alice:bob") { $0.token = chatToken }
        #expect(result.expires && result.ttl == 60)
        let nobody = try Conversation.connected(hub)
        let shopToken = try token(for: "shop", nil)
        let shop = try nobody.joined("shop") { $0.token = shopToken }
        #expect(shop.expires && shop.ttl == 60)
    }

    @Test("a connection token makes the user known to the session")
    func connection() throws {
        let answer = try ask(#"{"rooms":[],"connection":true}"#, "Bearer alice")
        let conversation = Conversation(hub)
        var request = ConnectRequest()
        request.token = try #require(answer["connection"]?.string)
        guard case .connect(let result) = try conversation.say(.connect(request), id: 1).first?.body else {
            throw TestFailure("not connected")
        }
        #expect(conversation.session.user == "alice" && result.expires && result.ttl == 60)
    }

    @Test(
        "a token is good for its own room and user alone, and for its own time",
        arguments: [("order:2", "alice", 0), ("order:1", "bob", 0), ("order:1", nil, 0), ("order:1", "alice", 60)]
            as [(ByteString, String?, Int)]
    )
    func refused(_ room: ByteString, _ user: String?, _ later: Int) throws {
        let token = try token(for: "order:1", "alice")
        let conversation = try Conversation.connected(hub, as: user)
        conversation.moment.milliseconds += Int64(later) * 1_000
        let replies = try conversation.subscribe(room) { $0.token = token }
        if later > 0 {
            #expect(replies.first?.errorCode == 109)
        } else {
            #expect(replies.isEmpty && conversation.session.ending?.code == 3_500)
        }
        #expect(conversation.session.subscriptions.isEmpty)
    }

    // MARK: what an app's page needs at its start

    @Test("the config names the hub by the host that was asked, and grants the public rooms with a name")
    func config() throws {
        let bytes = try auth.config(host: "localhost:8000", authorization: "Bearer alice", at: Self.noon)
        let config = try JSONDocument.parse(bytes).root
        #expect(config["url"]?.string == "ws://localhost:8000/connection/websocket")
        #expect(config["auth"]?.string == "http://localhost:8000/auth")
        #expect(config["grants"]?.members?.map(\.key) == ["lounge", "shop"])
        let nobody = try auth.config(host: "[::1]:8000", authorization: nil, at: Self.noon)
        let grants = try #require(JSONDocument.parse(nobody).root["grants"]?.members)
        #expect(grants.map(\.key) == ["shop"])
        let shop = try #require(grants[0].value["token"]?.string.flatMap(claims))
        #expect(shop.raw == Array(#"{"channel":"shop","exp":1060,"iat":1000}"#.utf8))
    }

    @Test("a host that is none is not repeated", arguments: [nil, "", "a b", "evil/path", "<x>"] as [ByteString?])
    func noHost(_ host: ByteString?) {
        #expect(throws: DemoAuthFault.self) { try auth.config(host: host, authorization: nil, at: Self.noon) }
    }

    // MARK: over a socket

    private func running() throws -> RunningHub {
        try RunningHub(rooms: HubConfiguration.standard.rooms.all) { $0.auth = .standard }
    }

    @Test("the whole flow: config, auth, connect, join, hear")
    func wholeFlow() throws {
        let hub = try running()
        let alice = ["Authorization: Bearer alice"]
        let config = try JSONDocument.parse(Array(hub.request("GET /auth/config", headers: alice).body.utf8)).root
        #expect(config["url"]?.string == "ws://hub/connection/websocket")
        let asked = #"{"rooms":["order:1042","chat:bob:carol","x:1"],"connection":true}"#
        let answer = try hub.request("POST /auth", headers: alice, body: Array(asked.utf8))
        #expect(answer.status == 200 && answer.head.contains("Content-Type: application/json"))
        let tokens = try JSONDocument.parse(Array(answer.body.utf8)).root
        #expect(tokens["rooms"]?["chat:bob:carol"]?["error"]?.string == "forbidden")
        #expect(tokens["rooms"]?["x:1"]?["error"]?.string == "no_rule")

        let client = try WireClient(port: hub.port)
        var connect = ConnectRequest()
        connect.token = try #require(tokens["connection"]?.string)
        var (order, shop) = (SubscribeRequest(), SubscribeRequest())
        order.channel = "order:1042"
        order.token = try #require(tokens["rooms"]?["order:1042"]?["token"]?.string)
        shop.channel = "shop"
        shop.token = try #require(config["grants"]?["shop"]?["token"]?.string)
        try client.send(
            Command(id: 1, .connect(connect)),
            Command(id: 2, .subscribe(order)),
            Command(id: 3, .subscribe(shop))
        )
        let replies = try client.next(3)
        #expect(replies.map(\.id) == [1, 2, 3] && replies.allSatisfy { $0.errorCode == nil })
        for room in ["order:1042", "shop"] {
            _ = try hub.api("publish", #"{"channel":"\#(room)","data":{"event":"updated","data":1}}"#)
            #expect(try client.next().pushed?.data.array == Array(#"{"event":"updated","data":1}"#.utf8))
        }
    }

    @Test("the answer that the documentation shows is the answer of a hub without a configuration")
    func documentation() throws {
        let page = try String(contentsOf: Self.page, encoding: .utf8)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false)
        let line = try #require(lines.firstIndex { $0.contains("-d '{\"rooms\":") })
        let asked = try #require(lines[line].firstMatch(of: /-d '(.*)'/)?.1)
        let answer = try running().request(
            "POST /auth",
            headers: ["Authorization: Bearer alice"],
            body: Array(asked.utf8)
        )
        #expect(answer.body.replacing(/"eyJ[^"]*"/, with: "\"eyJ…\"") == lines[line + 1])
    }

    private static let page = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../docs/ROOMHUB.md").standardizedFileURL

    @Test(
        "statuses, and a body that says why",
        arguments: [
            ("POST /auth", [], "{", 400, "bad_request"), ("GET /auth", [], nil, 405, "bad_request"),
            ("POST /auth/config", [], "", 405, "bad_request"),
            ("POST /auth", ["Authorization: Bearer mallory"], #"{"rooms":[]}"#, 401, "unauthorized"),
        ] as [(String, [String], String?, Int, ByteString)]
    )
    func statuses(_ line: String, _ headers: [String], _ body: String?, _ status: Int, _ code: ByteString) throws {
        let answer = try running().request(line, headers: headers, body: body.map { Array($0.utf8) })
        #expect(answer.status == status && answer.head.contains("Access-Control-Allow-Origin: *"))
        let error = try JSONDocument.parse(Array(answer.body.utf8)).root
        #expect(error["error"]?.string == code && error["message"]?.string?.isEmpty == false)
    }

    @Test("a browser may ask from any page", arguments: ["/auth", "/auth/config"])
    func preflight(_ path: String) throws {
        let headers = ["Origin: http://localhost:5173", "Access-Control-Request-Headers: authorization,content-type"]
        let answer = try running().request("OPTIONS \(path)", headers: headers)
        #expect(answer.status == 204 && answer.body.isEmpty)
        #expect(answer.head.contains("Access-Control-Allow-Origin: *"))
        #expect(answer.head.contains("Access-Control-Allow-Headers: authorization, content-type"))
        #expect(answer.head.contains("Access-Control-Allow-Methods: \(path == "/auth" ? "POST" : "GET"), OPTIONS"))
    }

    @Test("without settings there is no route, and another path is another route")
    func noRoute() throws {
        let without = try RunningHub()
        #expect(try without.request("POST /auth", body: Array(#"{"rooms":[]}"#.utf8)).status == 404)
        let moved = try RunningHub { hub in
            hub.auth = .standard
            hub.auth?.path = "/my/route"
        }
        #expect(try moved.request("POST /auth", body: Array(#"{"rooms":[]}"#.utf8)).status == 404)
        #expect(try moved.request("POST /my/route", body: Array(#"{"rooms":[]}"#.utf8)).body == #"{"rooms":{}}"#)
        #expect(try moved.request("GET /my/route/config").body.contains(#""auth":"http://hub/my/route""#))
    }
}
