import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S32 to S36: the server HTTP API.
@Suite struct ServerAPIConformanceTests {
    @Test(
        "S32 the key in three places, else 401 with nothing",
        arguments: [
            ("info", ["X-API-Key: api-key-for-tests"], 200), ("info", ["x-api-key: api-key-for-tests"], 200),
            ("info", ["Authorization: apikey api-key-for-tests"], 200), ("info?api_key=api-key-for-tests", [], 200),
            ("info", ["Authorization: ApiKey api-key-for-tests"], 200),
            ("info?api_key=api-key-for-tests", ["X-API-Key: wrong"], 200), ("info", [], 401),
            ("info", ["X-API-Key: wrong"], 401), ("info", ["X-API-Key:"], 401),
            ("info", ["Authorization: Bearer api-key-for-tests"], 401), ("info?api_key=", [], 401),
        ] as [(String, [String], Int)]
    )
    func keys(_ method: String, _ headers: [String], _ status: Int) throws {
        let answer = try RunningHub().api(method, "{}", headers: headers)
        #expect(answer.status == status)
        if status == 401 { #expect(answer.body.isEmpty) }
    }

    @Test(
        "S33 what is not a call",
        arguments: [
            ("GET /api/publish", nil, 405), ("POST /api/nosuch", "{}", 404), ("POST /api/publish", "{broken", 400),
            ("POST /api/publish", nil, 400), ("POST /api/publish", "[]", 400), ("POST /api/publish", "", 400),
            ("POST /api/publish", #"{"channel":1,"data":1}"#, 400), ("POST /api/batch", #"{"commands":{}}"#, 400),
            ("POST /api/publish", #"{"channel":"order:1","data":1,"tags":{"a":1}}"#, 400),
            ("POST /api/history", #"{"channel":"order:1","limit":"x"}"#, 400),
            ("POST /api/broadcast", #"{"channels":"order:1","data":1}"#, 400),
        ] as [(String, String?, Int)]
    )
    func notACall(_ line: String, _ body: String?, _ status: Int) throws {
        let headers = ["X-API-Key: api-key-for-tests"]
        let answer = try RunningHub().request(line, headers: headers, body: body.map { Array($0.utf8) })
        #expect(answer.status == status)
    }

    @Test(
        "S33 errors are answers",
        arguments: [
            ("publish", #"{"channel":"nosuch:1","data":1}"#, #"{"error":{"code":102,"message":"unknown channel"}}"#),
            ("publish", #"{"data":1}"#, #"{"error":{"code":107,"message":"bad request"}}"#),
            ("publish", #"{"channel":"order:1"}"#, #"{"error":{"code":107,"message":"bad request"}}"#),
            ("publish", #"{"channel":"order:1","b64data":"*"}"#, #"{"error":{"code":107,"message":"bad request"}}"#),
            ("broadcast", #"{"channels":[],"data":1}"#, #"{"error":{"code":107,"message":"bad request"}}"#),
            ("history", #"{"channel":"live:1"}"#, #"{"error":{"code":108,"message":"not available"}}"#),
            ("history", #"{"channel":"nosuch:1"}"#, #"{"error":{"code":102,"message":"unknown channel"}}"#),
            ("history_remove", #"{"channel":"live:1"}"#, #"{"error":{"code":108,"message":"not available"}}"#),
            ("rpc", #"{"method":"x"}"#, #"{"error":{"code":104,"message":"not found"}}"#),
            ("rpc", "{}", #"{"error":{"code":107,"message":"bad request"}}"#),
            ("publish", "null", #"{"error":{"code":107,"message":"bad request"}}"#),
            ("presence", "{}", #"{"error":{"code":107,"message":"bad request"}}"#),
            ("presence", #"{"channel":"live:1"}"#, #"{"error":{"code":108,"message":"not available"}}"#),
            ("presence_stats", #"{"channel":"live:1"}"#, #"{"error":{"code":108,"message":"not available"}}"#),
            ("subscribe", "{}", #"{"error":{"code":107,"message":"bad request"}}"#),
            ("subscribe", #"{"channel":"nosuch:1"}"#, #"{"error":{"code":102,"message":"unknown channel"}}"#),
            ("unsubscribe", "{}", #"{"result":{}}"#), ("disconnect", "{}", #"{"result":{}}"#),
            ("refresh", "{}", #"{"result":{}}"#), ("batch", "{}", "{}"), ("batch", #"{"commands":[]}"#, "{}"),
            ("channels", "{}", #"{"result":{"channels":{}}}"#),
            (
                "history", #"{"channel":"order:1","limit":1,"since":{"offset":1,"epoch":"WrongEpo"}}"#,
                #"{"error":{"code":112,"message":"unrecoverable position"}}"#
            ),
            (
                "history", #"{"channel":"order:1","limit":1,"since":{"offset":0},"reverse":true}"#,
                #"{"error":{"code":100,"message":"internal server error"}}"#
            ),
            ("publish", #"{"channel":"live:1","data":null}"#, #"{"result":{}}"#),
        ]
    )
    func errors(_ method: String, _ body: String, _ expected: String) throws {
        let answer = try RunningHub().api(method, body)
        #expect(answer.status == 200 && answer.body == expected)
        #expect(answer.head.contains("Content-Type: application/json"))
    }

    @Test("S35 publish, broadcast, skip_history, history with paging, history_remove")
    func histories() throws {
        let hub = try RunningHub()
        let first = try hub.api("publish", #"{"channel":"order:1","data":{"a" : 1},"tags":{"k":"v"}}"#).body
        let epoch = try #require(first.firstMatch(of: /"offset":1,"epoch":"(\w{8})"/)?.1)
        #expect(
            try hub.api("broadcast", #"{"channels":["order:1","nosuch:1","live:1"],"data":2}"#).body
                == #"{"result":{"responses":[{"result":{"offset":2,"epoch":"\#(epoch)"}},{"error":{"code":102,"#
                + #""message":"unknown channel"}},{"result":{}}]}}"#
        )
        #expect(
            try hub.api("publish", #"{"channel":"order:1","data":9,"skip_history":true}"#).body == #"{"result":{}}"#
        )
        _ = try hub.api("publish", #"{"channel":"order:1","b64data":"/wA="}"#)
        let position = #""epoch":"\#(epoch)","offset":3}}"#
        let publications = [
            #"{"data":{"a" : 1},"offset":1,"tags":{"k":"v"}}"#, #"{"data":2,"offset":2}"#,
            #"{"b64data":"/wA=","offset":3}"#,
        ]
        func page(_ rest: String) throws -> String { try hub.api("history", #"{"channel":"order:1"\#(rest)}"#).body }
        func expected(_ indices: Int...) -> String {
            #"{"result":{"publications":["# + indices.map { publications[$0] }.joined(separator: ",") + "]," + position
        }
        #expect(try page("") == expected())
        #expect(try page(#","limit":-1"#) == expected(0, 1, 2))
        #expect(try page(#","limit":1,"since":{"offset":1,"epoch":"\#(epoch)"}"#) == expected(1))
        #expect(try page(#","limit":2,"reverse":true"#) == expected(2, 1))
        #expect(try hub.api("history_remove", #"{"channel":"order:1"}"#).body == #"{"result":{}}"#)
        #expect(try page(#","limit":-1"#) == expected())
    }

    @Test("S34 a publication sent again under its key is the first one, in its room")
    func idempotency() throws {
        let hub = try RunningHub()
        func publish(_ channel: String, _ key: String) throws -> String {
            try hub.api("publish", #"{"channel":"\#(channel)","data":1,"idempotency_key":"\#(key)"}"#).body
        }
        let first = try publish("order:1", "a")
        #expect(try publish("order:1", "b").contains(#""offset":2,"#))
        #expect(try publish("order:1", "a") == first)
        #expect(try publish("order:2", "a").contains(#""offset":1,"#))
        #expect(try publish("order:1", "").contains(#""offset":3,"#))
    }

    @Test("S33 a batch goes on after an error")
    func batch() throws {
        let hub = try RunningHub()
        let body = #"""
            {"commands":[{"publish":{"channel":"live:1","data":1}},{"publish":{"channel":"nosuch:1","data":1}},
            {"publish":{"channel":7}},{"nosuch":{}},{},{"history":{"channel":"live:1"}},{"info":{}}],"parallel":true}
            """#
        let answer = try hub.api("batch", body).body
        #expect(
            answer.hasPrefix(
                #"{"replies":[{"publish":{}},{"error":{"code":102,"message":"unknown channel"}},"#
                    + #"{"error":{"code":107,"message":"bad request"}},{"error":{"code":104,"message":"not found"}},"#
                    + #"{"error":{"code":104,"message":"not found"}},{"error":{"code":108,"message":"not available"}},"#
                    + #"{"info":{"nodes":[{"uid":""#
            ),
            "\(answer)"
        )
    }

    // MARK: connections

    @Test("S34 a repeat pushes nothing, also where nothing is kept, and in a broadcast", arguments: WireFormat.allCases)
    func repeats(_ format: WireFormat) throws {
        let hub = try RunningHub()
        let client = try hub.connected(format)
        for (index, name) in (["order:1", "order:2", "live:1"] as [ByteString]).enumerated() {
            try client.joined(name, id: UInt32(index + 2))
        }
        func publish(_ channel: String, _ data: Int) throws -> String {
            try hub.api("publish", #"{"channel":"\#(channel)","data":\#(data),"idempotency_key":"k"}"#).body
        }
        let first = try publish("order:1", 1)
        #expect(try publish("order:1", 2) == first)
        let second = try hub.api(
            "broadcast",
            #"{"channels":["order:1","order:2"],"data":3,"idempotency_key":"k"}"#
        ).body
        #expect(second.hasPrefix(#"{"result":{"responses":["# + first + ","))
        #expect(try second.contains(publish("order:2", 4)))
        for data in [5, 6] { #expect(try publish("live:1", data) == #"{"result":{}}"#) }
        _ = try hub.api("publish", #"{"channel":"live:1","data":7}"#)
        let heard = try client.next(4).map {
            "\($0.push?.channel ?? "") \($0.pushed?.data.array.map { $0 - 0x30 } ?? [])"
        }
        #expect(heard == ["order:1 [1]", "order:2 [3]", "live:1 [5]", "live:1 [7]"])
    }

    @Test("S35 skip_history is heard and not kept", arguments: WireFormat.allCases)
    func skipsHistory(_ format: WireFormat) throws {
        let hub = try RunningHub()
        let client = try hub.connected(format)
        try client.joined("order:1")
        #expect(
            try hub.api("publish", #"{"channel":"order:1","data":1,"skip_history":true}"#).body == #"{"result":{}}"#
        )
        let answer = try hub.api("publish", #"{"channel":"order:1","data":2,"tags":{"k":"v"}}"#).body
        let heard = try client.next(2).map(\.pushed)
        #expect(heard.map { $0?.offset } == [0, 1] && heard.map { $0?.data.array } == [[0x31], [0x32]])
        #expect(heard[1]?.tags == [Tag(key: "k", value: "v")] && heard[0]?.tags == [])
        #expect(answer == #"{"result":{"offset":1,"epoch":"\#(heard[1]?.epoch ?? "")"}}"#)
    }

    /// The `disconnect` of a request, and the close that comes of it; nil: the connection is cut.
    static let closes: [(String, UInt16?, String)] = [
        ("", 3_503, "force disconnect"), (#","disconnect":null"#, 3_503, "force disconnect"),
        (#","disconnect":{"code":4000,"reason":"come back later"}"#, 4_000, "come back later"),
        (#","disconnect":{"code":4500,"reason":"never come back"}"#, 4_500, "never come back"),
        (#","disconnect":{"code":3001,"reason":"shutdown"}"#, 3_001, "shutdown"),
        (#","disconnect":{"code":1000,"reason":"normal"}"#, 1_000, "normal"),
        (#","disconnect":{"code":1001,"reason":"x"}"#, 1_001, "x"),
        (#","disconnect":{"code":1011,"reason":"x"}"#, 1_011, "x"),
        (#","disconnect":{"code":1014}"#, 1_014, ""), (#","disconnect":{"code":4000}"#, 4_000, ""),
        (#","disconnect":{"code":4999,"reason":"\#(long(123))"}"#, 4_999, long(123)),
        (#","disconnect":{"code":3503,"reason":"\#(umlauts(61))"}"#, 3_503, umlauts(61)),
        (#","disconnect":{"code":4001,"reason":"\#(long(124))"}"#, nil, ""),
        (#","disconnect":{}"#, nil, ""), (#","disconnect":{"code":0}"#, nil, ""),
        (#","disconnect":{"reason":"why"}"#, nil, ""),
        (#","disconnect":{"code":999}"#, nil, ""), (#","disconnect":{"code":1004}"#, nil, ""),
        (#","disconnect":{"code":1006}"#, nil, ""), (#","disconnect":{"code":1015}"#, nil, ""),
        (#","disconnect":{"code":1016}"#, nil, ""), (#","disconnect":{"code":2999,"reason":"low"}"#, nil, ""),
        // Centrifugo says nothing with this one.
        (#","disconnect":{"code":3000,"reason":"gone"}"#, nil, ""),
        (#","disconnect":{"code":5000,"reason":"odd"}"#, nil, ""),
        (#","disconnect":{"code":65536}"#, nil, ""), (#","disconnect":{"code":69536}"#, nil, ""),
        (#","disconnect":{"code":4294967295}"#, nil, ""),
    ]

    static func long(_ count: Int) -> String { String(repeating: "x", count: count) }
    static func umlauts(_ count: Int) -> String { String(repeating: "ü", count: count) }

    @Test("S36 disconnect closes with 3503 or what it is told, and cuts what cannot be said")
    func disconnect() throws {
        let hub = try RunningHub()
        for (index, row) in Self.closes.enumerated() {
            let (disconnect, code, reason) = row
            let client = try hub.connected(index % 2 == 0 ? .json : .protobuf, as: "u")
            #expect(try hub.api("disconnect", #"{"user":"u"\#(disconnect)}"#).body == #"{"result":{}}"#)
            if let code {
                let end = try client.readToClose()
                #expect(end.code == code && end.reason == ByteString(reason), "\(disconnect)")
            } else {
                try client.readToEnd()
                #expect(throws: TestFailure.self, "\(disconnect)") { try client.readToClose() }
            }
        }
        for code in ["-1", "4294967296", "1.5", #""3000""#] {
            #expect(try hub.api("disconnect", #"{"user":"u","disconnect":{"code":\#(code)}}"#).status == 400)
        }
    }

    @Test("S36 disconnect: one connection of a user, all but some, and nobody else's", arguments: WireFormat.allCases)
    func disconnectWhom(_ format: WireFormat) throws {
        let hub = HubState(rules: RoomRule.recorded)
        let u = try (0..<3).map { _ in try Conversation.connected(hub, as: "u", format: format) }
        let other = try Conversation.connected(hub, as: "else", format: format)
        let nobody = try Conversation.connected(hub, format: format)
        func call(_ body: String) -> [Int] {
            _ = hub.call("disconnect", body)
            return (u + [other, nobody]).map { Int($0.closeCode ?? 0) }
        }
        #expect(call(#"{"user":"u","client":"nobody"}"#) == [0, 0, 0, 0, 0])
        #expect(call(#"{"user":"else","client":"\#(u[0].session.client)"}"#) == [0, 0, 0, 0, 0])
        #expect(call(#"{"user":"u","session":"x"}"#) == [0, 0, 0, 0, 0])
        #expect(call(#"{"user":"u","client":"\#(u[0].session.client)"}"#) == [3_503, 0, 0, 0, 0])
        #expect(call(#"{"user":"u","whitelist":["\#(u[1].session.client)"]}"#) == [3_503, 0, 3_503, 0, 0])
        #expect(call("{}") == [3_503, 0, 3_503, 0, 3_503])
    }

    @Test(
        "S36 unsubscribe is a push with 2000, to every connection of the user, joined or not",
        arguments: WireFormat.allCases
    )
    func unsubscribe(_ format: WireFormat) throws {
        let hub = try RunningHub()
        let clients = try (0..<2).map { _ in try hub.connected(format, as: "u") }
        let other = try hub.connected(format, as: "else")
        for client in [clients[0], other] { try client.joined("live:1") }
        let push = Reply(id: 0, .push(Push(channel: "live:1", .unsubscribe(code: 2_000, reason: "server unsubscribe"))))
        #expect(try hub.api("unsubscribe", #"{"user":"u","channel":"live:1"}"#).body == #"{"result":{}}"#)
        for client in clients { #expect(try client.next() == push) }
        #expect(
            try hub.api("unsubscribe", #"{"user":"u","channel":"never:x"}"#).body
                == #"{"error":{"code":102,"message":"unknown channel"}}"#
        )
        #expect(try hub.api("unsubscribe", #"{"user":"u","channel":""}"#).body == #"{"result":{}}"#)
        let empty = Reply(id: 0, .push(Push(channel: "", .unsubscribe(code: 2_000, reason: "server unsubscribe"))))
        for client in clients { #expect(try client.next() == empty) }
        _ = try hub.api("publish", #"{"channel":"live:1","data":1}"#)
        #expect(try other.next().pushed != nil)
        // It may come again.
        #expect(try clients[0].joined("live:1", id: 9) == SubscribeResult())
    }

    @Test("S36 subscribe and refresh reach the connections of the user", arguments: WireFormat.allCases)
    func subscribeAndRefresh(_ format: WireFormat) throws {
        let hub = try RunningHub()
        let client = try hub.connected(format, as: "u")
        let first = try hub.api("publish", #"{"channel":"order:1","data":1}"#).body
        let epoch = try #require(first.firstMatch(of: /"epoch":"(\w+)"/)?.1)
        _ = try hub.api("subscribe", #"{"user":"u","channel":"order:1","data":{"d":1},"info":{"i":1}}"#)
        var body = SubscribePush()
        (body.recoverable, body.positioned, body.offset, body.epoch) = (true, true, 1, ByteString(String(epoch)))
        body.data = Array(#"{"d":1}"#.utf8)
        #expect(try client.next() == Reply(id: 0, .push(Push(channel: "order:1", .subscribe(body)))))
        _ = try hub.api("publish", #"{"channel":"order:1","data":2}"#)
        #expect(try client.next().pushedOffset == 2)
        try client.send(.subscribe("order:1"))
        #expect(try client.next().errorCode == 105)
        let refused = #"{"error":{"code":100,"message":"internal server error"}}"#
        #expect(try hub.api("subscribe", #"{"user":"u","channel":"order:1"}"#).body == refused)
        #expect(try hub.api("subscribe", #"{"user":"u","channel":"live:1","expire_at":5}"#).body == refused)
        _ = try hub.api("subscribe", #"{"user":"u","channel":"order:2","override":{"force_recovery":{"value":false}}}"#)
        #expect(try client.next() == Reply(id: 0, .push(Push(channel: "order:2", .subscribe(SubscribePush())))))
        let expiry = Moment.now.seconds + 1_000
        _ = try hub.api("refresh", #"{"user":"u","expire_at":\#(expiry)}"#)
        guard case .refresh(true, let ttl) = try client.next().push?.body else { throw TestFailure("no refresh") }
        #expect((995...1_000).contains(ttl))
        _ = try hub.api("refresh", #"{"user":"u"}"#)
        #expect(try client.next().push?.body == .refresh(expires: false, ttl: 0))
        _ = try hub.api("refresh", #"{"user":"u","expired":true}"#)
        let end = try client.readToClose()
        #expect(end.code == 3_005 && end.reason == "connection expired")
    }

    @Test("S36 subscribe over the limit of rooms closes with 3505", arguments: WireFormat.allCases)
    func subscribeOverLimit(_ format: WireFormat) throws {
        let hub = try RunningHub { $0.session.roomLimit = 1 }
        let client = try hub.connected(format, as: "u")
        try client.joined("live:1")
        #expect(try hub.api("subscribe", #"{"user":"u","channel":"live:2"}"#).body == #"{"result":{}}"#)
        let end = try client.readToClose()
        #expect(end.code == 3_505 && end.replies.isEmpty)
    }
}
