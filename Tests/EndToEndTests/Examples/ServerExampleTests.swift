internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// The servers that people copy into their apps, each beside the real hub.
    @Suite(.timeLimit(.minutes(2))) struct ServerExampleTests {
        // MARK: the page

        @Test(arguments: zip(ExampleLanguage.allCases, ["Node", "PHP", "Python"]))
        func `the page's snippet stands in the file, byte for byte`(_ language: ExampleLanguage, _ title: String) throws
        {
            let page = try String(
                contentsOfFile: Programs.root + "/Tests/EndToEndTests/Examples/rooms.md",
                encoding: .utf8
            )
            let behindTitle = try #require(page.range(of: "\n**\(title)**\n\n```")).upperBound
            let start = try #require(page[behindTitle...].firstIndex(of: "\n"))
            let end = try #require(page.range(of: "```", range: start..<page.endIndex)).upperBound
            let snippet = page[start..<page.index(end, offsetBy: -3)]
            #expect(snippet.contains("order:{id}") && snippet.hasSuffix("\n"))
            let file = try String(contentsOfFile: language.path(of: "server"), encoding: .utf8)
            #expect(file.contains(snippet))
        }

        // MARK: the auth route

        @Test(arguments: ExampleLanguage.allCases)
        func `one request asks for many rooms, and each gets what its rule says`(
            _ language: ExampleLanguage
        ) async throws {
            guard let pair = try await HubAndServer(language) else { return }
            let long = String(repeating: "7", count: 250)
            let rooms = [
                ("order:1042", "token"), ("order:1043", "forbidden"), ("order:9", "forbidden"),
                ("chat:alice:bob", "token"), ("chat:bob:alice", "token"), ("chat:bob:carol", "forbidden"),
                ("shop", "token"), ("news:sport", "token"), ("news:a:b", "no_rule"), ("x:1", "no_rule"),
                ("order:", "no_rule"), ("order:1042:x", "no_rule"), ("order:1042\\n", "forbidden"),
                ("shop2", "no_rule"), ("shop\\n", "no_rule"),
                ("", "no_rule"), ("0", "no_rule"), ("__proto__", "no_rule"), ("constructor", "no_rule"),
                ("order:\(long)", "bad_request"), ("order:__proto__", "forbidden"),
            ]
            let answer = try await pair.server.ask(rooms.map(\.0) + ["shop", "order:1042"], as: "alice")
            for (room, verdict) in rooms { #expect(answer.verdict(room) == verdict, "\(room)") }
            #expect(answer["connection"] == nil)
            let bob = try await pair.server.ask(["order:1042", "order:1043"], as: "bob", connection: true)
            #expect(bob.verdict("order:1042") == "forbidden" && bob.verdict("order:1043") == "token")
            #expect(bob["connection"] != nil)
            let none = try await pair.server.ask([], as: "bob")
            #expect(none["rooms"]?.raw == Array("{}".utf8))
            try await pair.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `nobody joins what is public, and no rule is asked about him`(_ language: ExampleLanguage) async throws {
            guard let pair = try await HubAndServer(language) else { return }
            let rooms = ["shop", "news:sport", "order:1042", "order:9", "x:1"]
            let answer = try await pair.server.ask(rooms, as: nil, connection: true)
            // order:9 is not there: nobody's, as `undefined === undefined` would have it.
            let verdicts = rooms.map { answer.verdict($0) }
            #expect(verdicts == ["token", "token", "forbidden", "forbidden", "no_rule"])
            #expect(answer["connection"] == nil)
            let config = try await pair.server.config(as: nil)
            #expect(config["url"]?.string == ByteString("ws://127.0.0.1:\(pair.hub.port)/connection/websocket"))
            let grant = config["grants"]?["shop"]?["token"]?.string?.string ?? ""
            #expect(config["grants"]?.elements.isEmpty == true && config["grants"]?["news:{topic}"] == nil)
            let replies = try await WebSocketConversation.join(
                port: pair.hub.port,
                connection: "",
                [("shop", grant), ("news:sport", answer.token("news:sport"))]
            )
            #expect(replies.count == 3 && replies.allSatisfy { $0["error"] == nil }, "\(replies.map(\.text))")
            try await pair.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `what is no such request is refused with the right status`(_ language: ExampleLanguage) async throws {
            guard let pair = try await HubAndServer(language) else { return }
            let many = "{\"rooms\":[" + Array(repeating: "\"a\"", count: 1_001).joined(separator: ",") + "]}"
            let bad = [
                "[]", "null", "7", "{", "{\"rooms\":7}", "{\"rooms\":\"shop\"}", "{\"rooms\":{\"a\":\"shop\"}}",
                "{\"rooms\":[7]}", "{\"rooms\":[null]}", "{\"rooms\":[],\"connection\":1}", many,
            ]
            for body in bad {
                let answer = try await pair.server.request("POST", "/realtime/auth", body, as: "alice")
                #expect(answer.status == 400, "\(body.prefix(40))")
                #expect(JSONSlice(answer.body)["error"] != nil && answer.headers["cache-control"] == "no-store")
            }
            let empty = try await pair.server.request("POST", "/realtime/auth", as: "alice")
            #expect(empty.status == 400)
            let get = try await pair.server.request("GET", "/realtime/auth", as: "alice")
            #expect(get.status == 405 && get.headers["allow"] == "POST")
            let post = try await pair.server.request("POST", "/realtime/config", "{}", as: "alice")
            #expect(post.status == 405 && post.headers["allow"] == "GET")
            #expect(try await pair.server.request("GET", "/realtime", as: "alice").status == 404)
            let path = "/realtime/auth?x=1"
            for value in ["Basic YTpi", "Bearer", "alice"] {
                let answer = try await pair.server.request("POST", path, "{}", authorization: value)
                #expect(answer.status == 401 && answer.headers["www-authenticate"] == "Bearer", "\(value)")
            }
            // PHP's own server reads a body to its end before the script has a say.
            if language != .php {
                #expect(try await pair.server.request("POST", path, as: "alice", announced: 2 << 20).status == 413)
            }
            try await pair.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `a rule that fails is no answer, and what is not true is no yes`(_ language: ExampleLanguage) async throws
        {
            let more =
                switch language {
                case .node:
                    """
                    realtime.room('broken:{x}', {}, async () => { throw new Error('no database'); });
                    realtime.room('vague:{x}', {}, () => ({ order: 1 }));
                    realtime.room('ruleless:{x}', {});
                    realtime.room('free:{x}', {}, () => true);
                    realtime.room('members', { public: true, anonymous: false });
                    """
                case .php:
                    """
                    $realtime->room('broken:{x}', fn () => throw new Exception('no database'));
                    $realtime->room('vague:{x}', fn () => ['order' => 1]);
                    $realtime->room('ruleless:{x}');
                    $realtime->room('free:{x}', fn () => true);
                    $realtime->room('members', options: ['public' => true, 'anonymous' => false]);
                    """
                case .python:
                    """
                    realtime.room("broken:{x}", lambda user, p: {}["no database"])
                    realtime.room("vague:{x}", lambda user, p: {"order": 1})
                    realtime.room("ruleless:{x}")
                    realtime.room("free:{x}", lambda user, p: True)
                    realtime.room("members", public=True, anonymous=False)
                    """
                }
            guard let pair = try await HubAndServer(language, more: more) else { return }
            let answer = try await pair.server.request(
                "POST",
                "/realtime/auth",
                #"{"rooms":["shop","broken:1"]}"#,
                as: "a"
            )
            #expect(answer.status == 500)
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("database"))
            _ = try await pair.server.line(containing: "no database")
            let rooms = ["vague:1", "ruleless:1", "members", "free:1", "shop"]
            let alice = try await pair.server.ask(rooms, as: "alice")
            #expect(rooms.map { alice.verdict($0) } == ["forbidden", "forbidden", "token", "token", "token"])
            let nobody = try await pair.server.ask(rooms, as: nil)
            #expect(rooms.map { nobody.verdict($0) } == ["forbidden", "forbidden", "forbidden", "forbidden", "token"])
            #expect(try await pair.server.config(as: nil)["grants"]?["members"] == nil)
            #expect(try await pair.server.config(as: "alice")["grants"]?["members"] != nil)
            try await pair.stop()
        }

        // MARK: patterns

        @Test(arguments: ExampleLanguage.allCases)
        func `the pattern with the most literal bytes wins`(_ language: ExampleLanguage) async throws {
            let patterns = ["p:{a}", "p:{a}:{rest*}", "p:new", "p:x{a}", "p:{a}.log", "p:é{a}"]
            let more = patterns.enumerated().map { Self.open($1, to: "user\($0)", language) }.joined(separator: "\n")
            guard let pair = try await HubAndServer(language, more: more) else { return }
            // Each of them lets in a user of its own alone, so the answers tell which one it was.
            let rooms = [
                ("p:1", "p:{a}"), ("p:1:2:3", "p:{a}:{rest*}"), ("p:1:", "p:{a}:{rest*}"), ("p:new", "p:new"),
                ("p:newer", "p:{a}"), ("p:x1", "p:x{a}"), ("p:x", "p:{a}"), ("p:1.log", "p:{a}.log"),
                ("p:1xlog", "p:{a}"),
                ("p:éa", "p:é{a}"),
            ]
            for (index, pattern) in patterns.enumerated() {
                let answer = try await pair.server.ask(rooms.map(\.0), as: "user\(index)")
                for (room, right) in rooms {
                    #expect(answer.verdict(room) == (right == pattern ? "token" : "forbidden"), "\(room) by \(pattern)")
                }
            }
            try await pair.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `patterns that fit the same names equally well, or are none, are refused at the start`(
            _ language: ExampleLanguage
        ) async throws {
            let clashes = [
                ["order:{other}"], ["x:{a}", "{a}:x"], ["x:{a}", "x:{rest*}"], ["y", "y"], ["a{x}b", "{x}ab"],
            ]
            let mistakes = ["", "a{", "a}", "{}", "{a b}", "{x*}:y", "{1}"].map { [$0] }
            for patterns in clashes + mistakes {
                let more = patterns.map { Self.open($0, language) }.joined(separator: "\n")
                guard let server = try ExampleServer(language, hub: 9, more: more) else { return }
                let reason = clashes.contains(patterns) ? "equally well" : "is no pattern"
                if language == .php {
                    try await server.start()
                    #expect(try await server.request("GET", "/realtime/config").status == 500, "\(patterns)")
                } else {
                    #expect(try await server.launch().wait() == .status(1), "\(patterns)")
                }
                #expect(server.output.contains(reason), "\(patterns): \(server.output)")
                try await server.stop()
            }
            let fine = ["user{x}:1", "team{x}:1", "u:{x}", "v:{x*}", "order:{id}:{part}"]
            let more = fine.map { Self.open($0, language) }.joined(separator: "\n")
            guard let pair = try await HubAndServer(language, more: more) else { return }
            try await pair.stop()
        }

        /// A line that declares rooms which one user may join.
        private static func open(_ pattern: String, to user: String = "alice", _ language: ExampleLanguage) -> String {
            switch language {
            case .node: "realtime.room('\(pattern)', {}, (user) => user === '\(user)');"
            case .php: "$realtime->room('\(pattern)', fn ($user) => $user === '\(user)');"
            case .python: "realtime.room('\(pattern)', lambda user, p: user == '\(user)')"
            }
        }

        // MARK: with the hub

        @Test(arguments: ExampleLanguage.allCases)
        func `the hub takes the tokens and keeps what was declared`(_ language: ExampleLanguage) async throws {
            guard let pair = try await HubAndServer(language) else { return }
            let rooms = ["order:1042", "chat:alice:bob", "shop", "news:sport"]
            let answer = try await pair.server.ask(rooms, as: "alice", connection: true)
            let connection = answer["connection"]?.string?.string ?? ""
            try await expectAllJoined(answer, rooms, connection, port: pair.hub.port)
            // A token says whose it is: bob's connection does not get in with it.
            let bob = try await pair.server.ask([], as: "bob", connection: true)["connection"]?.string?.string ?? ""
            let token = answer.token("order:1042")
            let replies = try await WebSocketConversation.join(
                port: pair.hub.port,
                connection: bob,
                [("order:1042", token)]
            )
            #expect(replies.last?["close"]?.unsigned == 3500)
            for (room, kept) in [("order:1042", 20), ("chat:alice:bob", 25), ("shop", 20)] {
                for number in 0..<25 { try await pair.api("publish", #"{"channel":"\#(room)","data":\#(number)}"#) }
                let history = try await pair.api("history", #"{"channel":"\#(room)","limit":100}"#)
                #expect(history["publications"]?.elements.count == kept, "\(room)")
            }
            // What no one declared is not there.
            await #expect(throws: ChildProcess.Failure.self) {
                try await pair.api("history", #"{"channel":"x:1","limit":1}"#)
            }
            try await pair.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `a hub that comes later is told, and one that knows better is heard`(
            _ language: ExampleLanguage
        ) async throws {
            let hub = try HubProcess(configuration: ExampleServer.bareHub)
            guard let server = try ExampleServer(language, hub: hub.port) else { return }
            try await server.start()
            // PHP tells the hub when it is asked itself.
            _ = try await server.ask(["shop"], as: "alice")
            _ = try await server.line(containing: "rooms: no answer from http://127.0.0.1:\(hub.port)")
            try await hub.start()
            try await eventually("the declaration") {
                _ = try await server.ask(["shop"], as: "alice")
                return server.output.contains("rooms: declared\n")
            }
            try await server.stop()
            let other = #"{"app":"other","rooms":[{"pattern":"order:{number}"}]}"#
            try await hub.api("declare_rooms", #"{"app":"example","rooms":[]}"#)
            try await hub.api("declare_rooms", other)
            guard let second = try ExampleServer(language, hub: hub.port) else { return }
            try await second.start()
            #expect(try await second.ask(["order:1042"], as: "alice").verdict("order:1042") == "token")
            let line = try await second.line(containing: "rooms: the hub refuses them: 113")
            #expect(line.contains("order:{number}"))
            try await second.stop()
            guard let keyless = try ExampleServer(language, hub: hub.port) else { return }
            try await keyless.start(apiKey: "wrong")
            _ = try await keyless.ask(["shop"], as: "alice")
            _ = try await keyless.line(containing: "rooms: the hub refuses the key: set HUB_API_KEY")
            try await keyless.stop()
            try await hub.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `a declaration that is wrong comes back with what would be right`(_ language: ExampleLanguage) async throws
        {
            let more =
                switch language {
                case .node: "realtime.room('late:{x}', { keep: '2h' });"
                case .php: "$realtime->room('late:{x}', options: ['keep' => '2h']);"
                case .python: "realtime.room('late:{x}', keep='2h')"
                }
            let hub = try HubProcess(configuration: ExampleServer.bareHub)
            guard let server = try ExampleServer(language, hub: hub.port, more: more) else { return }
            try await hub.start()
            try await server.start()
            _ = try await server.config(as: nil)
            let line = try await server.line(containing: "rooms: the hub refuses them: 107")
            #expect(line.contains("keep") && line.contains("30m"), "\(line)")
            try await server.stop()
            try await hub.stop()
        }

        @Test func `PHP tells the hub by hand`() async throws {
            let hub = try HubProcess(configuration: ExampleServer.bareHub)
            guard let server = try ExampleServer(.php, hub: hub.port) else { return }
            #expect(try await server.declareByHand().contains("rooms: no answer from"))
            try await hub.start()
            #expect(try await server.declareByHand() == "rooms: declared\n")
            try await hub.stop()
        }

        // MARK: with Centrifugo

        @Test(arguments: ExampleLanguage.allCases)
        func `Centrifugo with the README's namespaces takes the tokens too`(_ language: ExampleLanguage) async throws {
            guard let real = try CentrifugoProcess(configuration: ExampleServer.readmeConfiguration()) else { return }
            try await real.start()
            guard let server = try ExampleServer(language, hub: real.port) else { return }
            try await server.start(secret: "roomhub-token-secret", apiKey: "roomhub-api-key")
            let rooms = ["order:1042", "chat:alice:bob", "shop", "news:sport"]
            let answer = try await server.ask(rooms, as: "alice", connection: true)
            _ = try await server.line(containing: "rooms: the hub takes no declarations, its configuration counts")
            let connection = answer["connection"]?.string?.string ?? ""
            try await expectAllJoined(answer, rooms, connection, port: real.port)
            let grant = try await server.config(as: nil)["grants"]?["shop"]?["token"]?.string?.string ?? ""
            let replies = try await WebSocketConversation.join(port: real.port, connection: "", [("shop", grant)])
            #expect(replies.count == 2 && replies.allSatisfy { $0["error"] == nil }, "\(replies.map(\.text))")
            let bare = try await WebSocketConversation.join(
                port: real.port,
                connection: "",
                [("shop", ""), ("order:1042", "")]
            )
            #expect(bare.dropFirst().map { $0["error"]?["code"]?.unsigned } == [103, 103])
            try await server.stop()
            try await real.stop()
        }

        /// Every room is joined with its token, and can be recovered.
        private func expectAllJoined(
            _ answer: JSONSlice,
            _ rooms: [String],
            _ connection: String,
            port: UInt16
        ) async throws {
            let replies = try await WebSocketConversation.join(
                port: port,
                connection: connection,
                rooms.map { ($0, answer.token($0)) }
            )
            #expect(replies.count == rooms.count + 1, "\(replies.map(\.text))")
            for reply in replies.dropFirst() {
                #expect(reply["subscribe"]?["recoverable"]?.raw == Array("true".utf8), "\(reply.text)")
                #expect(reply["subscribe"]?["expires"]?.raw == Array("true".utf8), "\(reply.text)")
            }
        }
    }
}

extension JSONSlice {
    fileprivate var text: String { String(decoding: raw, as: UTF8.self) }
}

/// A hub without rooms of its own, and one of the servers, which declares them.
private final class HubAndServer {
    let hub: HubProcess
    let server: ExampleServer

    /// Nil when the interpreter is not installed and nobody insists on it.
    init?(_ language: ExampleLanguage, more: String = "") async throws {
        hub = try HubProcess(configuration: ExampleServer.bareHub)
        guard let server = try ExampleServer(language, hub: hub.port, more: more) else { return nil }
        self.server = server
        try await hub.start()
        try await server.start()
        // PHP tells the hub when it is asked itself.
        _ = try await server.config(as: nil)
        _ = try await server.line(containing: "rooms: declared")
    }

    @discardableResult
    func api(_ method: String, _ body: String) async throws -> JSONSlice { try await hub.api(method, body) }

    func stop() async throws {
        try await server.stop()
        try await hub.stop()
    }
}

extension HubProcess {
    @discardableResult
    func api(_ method: String, _ body: String) async throws -> JSONSlice {
        let headers = ["x-api-key: \(RealtimeServers.apiKey)"]
        let answer = try await TestHTTP.post(.loopback(port: port), "/api/\(method)", body, headers: headers)
        guard let answer, let result = JSONSlice(answer.body)["result"] else {
            throw ChildProcess.Failure(
                "\(method): \(answer.map { String(decoding: $0.body, as: UTF8.self) } ?? "no answer")"
            )
        }
        return result
    }
}
