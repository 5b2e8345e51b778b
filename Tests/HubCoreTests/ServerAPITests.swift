import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// The server API over real HTTP.
@Suite struct ServerAPITests {
    @Test(
        "the key in three places, else 401 with nothing",
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
        "what is not a call",
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
        "errors are answers",
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

    @Test("publish, broadcast, skip_history, history with paging, history_remove")
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

    @Test("a publication sent again under its key is the first one, in its room")
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

    @Test("a batch goes on after an error")
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

    @Test("requests one after another on a connection, in pieces, chunked, and large")
    func http() throws {
        let hub = try RunningHub()
        let client = try SocketClient(port: hub.port)
        let head = "POST /api/publish HTTP/1.1\r\nHost: hub\r\nX-API-Key: api-key-for-tests\r\n"
        let body = #"{"channel":"live:1","data":1}"#
        try client.send(Array((head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body).utf8))
        let pieces = [
            head, "Transfer-Encoding: chunked\r\n\r\n", "5\r\n\(body.prefix(5))\r\n",
            "18\r\n\(body.dropFirst(5))\r\n0\r\n\r\n",
        ]
        for piece in pieces { try client.send(Array(piece.utf8)) }
        let large = #"{"channel":"order:1","data":"\#(String(repeating: "x", count: 3 << 20))"}"#
        try client.send(
            Array((head + "Connection: close\r\nContent-Length: \(large.utf8.count)\r\n\r\n" + large).utf8)
        )
        let text = String(decoding: try client.readToEnd(), as: UTF8.self)
        #expect(text.matches(of: /HTTP\/1.1 200 OK/).count == 3)
        #expect(text.matches(of: /{"result":{}}/).count == 2)
        #expect(text.contains(#"{"result":{"offset":1,"#))
    }

    @Test("a body larger than the limit is refused before it is read")
    func tooLarge() throws {
        let hub = try RunningHub()
        let client = try SocketClient(port: hub.port)
        try client.send(Array("POST /api/publish HTTP/1.1\r\nHost: hub\r\nContent-Length: 99999999999\r\n\r\n".utf8))
        #expect(String(decoding: try client.read(), as: UTF8.self).hasPrefix("HTTP/1.1 413 "))
    }
}
