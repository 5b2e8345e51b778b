import BridgeTestSupport
import LocalHTTP
import RoomsRuntime
import Testing

@testable import HubCore

@Suite struct HubConfigurationTests {
    private func parse(_ text: String) throws -> HubConfiguration {
        try HubConfiguration.parse(Array(text.utf8))
    }

    private func issues(_ text: String) -> [String] {
        do {
            _ = try parse(text)
            return []
        } catch let error as HubConfigurationError {
            return error.issues.map(\.description)
        } catch {
            return ["\(error)"]
        }
    }

    @Test("an empty object is the standard configuration, without the auth route")
    func empty() throws {
        let configuration = try parse("{}")
        #expect(configuration.listen == ["127.0.0.1:8000"])
        #expect(configuration.apiKey.matches("roomhub-api-key".utf8))
        #expect(configuration.tokenSecret.matches("roomhub-token-secret".utf8))
        let rules = configuration.rooms.all
        #expect(rules.map(\.pattern.text) == ["order:{id}", "chat:{a}:{b}", "shop"])
        #expect(rules.map(\.history) == [20, 0, 20] && rules.map(\.isPublic) == [false, false, true])
        #expect(rules[2].membersMay == [.history] && rules[2].recovery == .always && rules[0].keep == .seconds(1_800))
        #expect(configuration.session.pingInterval == .seconds(25) && configuration.session.pongTimeout == .seconds(8))
    }

    @Test("everything said")
    func everything() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("the key\n", to: "key")
        let configuration = try parse(
            #"""
            {"listen": ["127.0.0.1:1", "[::1]:0"], "api_key": {"file": "\#(path)"}, "anonymous": false,
             "ping_interval": "2s", "pong_timeout": "250ms", "rooms": [
              {"pattern": "a:{x*}", "history": 5, "keep": "2m", "recovery": "ask", "position": "always",
               "members_may": ["publish", "history"], "public": true, "anonymous": false}]}
            """#
        )
        #expect(configuration.listen.map(\.description) == ["127.0.0.1:1", "[::1]:0"])
        #expect(configuration.apiKey.matches("the key".utf8))
        #expect(!configuration.session.admitsAnonymous)
        #expect(configuration.session.pingInterval == .seconds(2))
        #expect(configuration.session.pongTimeout == .milliseconds(250))
        let rule = configuration.rooms.all[0]
        #expect(rule.history == 5 && rule.keep == .seconds(120) && rule.isPublic && !rule.admitsAnonymous)
        #expect(rule.recovery == .ask && rule.position == .always && rule.membersMay == [.history, .publish])
    }

    @Test(
        "what is wrong, where, and what would be right",
        arguments: [
            ("", "1:1: "), ("[]", "1:1: is not an object, write { … }"),
            (#"{"lisen": 1}"#, #"1:2: lisen: nothing is called so, did you mean "listen"?"#),
            (#"{"listen": "0.0.0.0"}"#, #"1:12: listen[0]: is no address and port, write "127.0.0.1:8000""#),
            (#"{"listen": ["127.0.0.1:99999"]}"#, "1:13: listen[0]: is no address"),
            (
                "{\n  \"api_key\": \"inline\"}",
                "2:14: api_key: a secret must not stand in the configuration, write {\"file"
            ),
            (
                #"{"api_key": {"env": "NO_SUCH_VARIABLE_HERE"}}"#,
                "1:13: api_key: the variable NO_SUCH_VARIABLE_HERE is not set"
            ),
            (#"{"api_key": {"file": "/no/such/file"}}"#, "1:13: api_key: /no/such/file: No such file or directory"),
            (#"{"rooms": {}}"#, "1:11: rooms: is not a list, write [ … ]"),
            (#"{"rooms": [{}]}"#, "1:12: rooms[0]: has no pattern"),
            (#"{"rooms": [{"pattern": "a{"}]}"#, "1:24: rooms[0].pattern: a { without a }, write {x}"),
            (#"{"rooms": [{"pattern": "a", "history": -1}]}"#, "1:40: rooms[0].history: is not a whole number from 0"),
            (#"{"rooms": [{"pattern": "a", "history": 1.5}]}"#, "1:40: rooms[0].history: is not a whole number"),
            (
                #"{"rooms": [{"pattern": "a", "keep": 30}]}"#,
                #"1:37: rooms[0].keep: is not a length of time, write for example "30m""#
            ),
            (#"{"rooms": [{"pattern": "a", "recovery": true}]}"#, "1:41: rooms[0].recovery: is not one of the three"),
            (#"{"rooms": [{"pattern": "a", "public": "yes"}]}"#, "1:39: rooms[0].public: is not a boolean"),
            (
                #"{"rooms": [{"pattern": "a", "members_may": ["fly"]}]}"#,
                "1:45: rooms[0].members_may[0]: is nothing that"
            ),
            (#"{"rooms": [{"pattern": "a", "pattern": "b"}]}"#, "1:40: rooms[0].pattern: stands here twice"),
            (
                #"{"rooms": [{"pattern": "a:{x}"}, {"pattern": "a:{y}"}]}"#,
                "1:34: rooms[1]: some names fit both a:{x} and a:{y}"
            ),
            (#"{"auth": true}"#, "1:10: auth: is not an object"), (#"{"auth": {}}"#, "1:10: auth: has no users, write"),
            (#"{"auth": {"user": {}}}"#, #"1:11: auth.user: nothing is called so, did you mean "users"?"#),
            (#"{"auth": {"users": []}}"#, "1:20: auth.users: is not an object, write for example {"),
            (#"{"auth": {"users": {}, "path": "auth"}}"#, "1:32: auth.path: is no path of letters"),
            (#"{"auth": {"users": {}, "path": "/auth/"}}"#, "1:32: auth.path: is no path of letters"),
            (#"{"auth": {"users": {}, "path": "/a?b"}}"#, "1:32: auth.path: is no path of letters"),
            (#"{"auth": {"users": {}, "path": "/api/x"}}"#, "1:32: auth.path: is among the hub's own paths, write"),
            (#"{"auth": {"users": {}, "path": "/connection/websocket"}}"#, "1:32: auth.path: is among the hub's own"),
            (#"{"auth": {"users": {}, "token_life": "1"}}"#, "1:38: auth.token_life: is not a length of time"),
            (#"{"auth": {"users": {}, "token_life": "10ms"}}"#, "1:38: auth.token_life: is shorter than a second"),
            (#"{"auth": {"users": {"": {}}}}"#, "1:25: auth.users.: has no name"),
            (#"{"auth": {"users": {"a b": {}}}}"#, #"1:28: auth.users.a b: is a name with spaces"#),
            (#"{"auth": {"users": {"a": 1}}}"#, "1:26: auth.users.a: is not an object"),
            (#"{"auth": {"users": {"a": {}, "a": {}}}}"#, "1:35: auth.users.a: stands here twice, take one away"),
            (
                #"{"auth": {"users": {"a": {"room": []}}}}"#,
                #"1:27: auth.users.a.room: nothing is called so, did you mean "rooms"?"#
            ),
            (
                #"{"auth": {"users": {"a": {"bearer": "a"}}}}"#,
                "1:37: auth.users.a.bearer: a secret must not stand in the configuration"
            ),
            (#"{"auth": {"users": {"a": {"rooms": "order:{id}"}}}}"#, "1:36: auth.users.a.rooms: is not a list"),
            (#"{"auth": {"users": {"a": {"rooms": [1]}}}}"#, "1:37: auth.users.a.rooms[0]: is not a string, write"),
            (
                #"{"auth": {"users": {"a": {"rooms": ["x:{user}", "x:{"]}}}}"#,
                "1:49: auth.users.a.rooms[1]: a { without a }, write {x}"
            ),
            (
                #"{"auth": {"users": {"a": {"rooms": ["x:{user*}"]}}}}"#,
                "1:37: auth.users.a.rooms[0]: {user*} is no rest of a name, write {user} or {rest*}"
            ),
            (
                #"{"auth": {"users": {"a:b": {"rooms": ["x:{user}"]}}}}"#,
                "1:39: auth.users.a:b.rooms[0]: {user} is one part of a name, and a:b has a : in it"
            ),
            (#"{"ping_interval": "1s"}"#, "ping_interval: is not longer than pong_timeout"),
        ]
    )
    func wrong(_ text: String, _ start: String) {
        let found = issues(text)
        #expect(found.count == 1 && found[0].contains(start), "\(found)")
    }

    @Test("users of the demo auth route, by their name or by a bearer of their own")
    func auth() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("hush\n", to: "bearer")
        let configuration = try parse(
            #"""
            {"auth": {"path": "/realtime/auth", "token_life": "5m", "users": {
              "alice": {"rooms": ["chat:{user}:{x}", "order:{id}"]}, "bob smith": {"bearer": {"file": "\#(path)"}}}}}
            """#
        )
        let auth = try #require(configuration.auth)
        #expect(auth.path == "/realtime/auth" && auth.tokenLife == .seconds(300))
        #expect(auth.users.map(\.name) == ["alice", "bob smith"] && auth.users.map(\.rooms.count) == [2, 0])
        #expect(auth.users[0].bearer.matches("alice".utf8) && auth.users[1].bearer.matches("hush".utf8))
        let chats = auth.users[0].rooms[0]
        #expect(chats.matches("chat:alice:1") && !chats.matches("chat:bob:1") && !chats.matches("chat:alicex:1"))
        let usual = try #require(try parse(#"{"auth": {"users": {}}}"#).auth)
        #expect(usual.path == "/auth" && usual.tokenLife == .seconds(3_600) && usual.users.isEmpty)
        #expect(try parse("{}").auth == nil && HubConfiguration.standard.auth?.users.map(\.name) == ["alice", "bob"])
    }

    @Test("two users with one bearer could not be told apart")
    func sameBearer() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("alice", to: "bearer")
        let found = issues(#"{"auth": {"users": {"alice": {}, "bob": {"bearer": {"file": "\#(path)"}}}}}"#)
        #expect(found == ["1:41: auth.users.bob: has the same bearer as alice, give each user another"])
    }

    @Test("every mistake is told at once, in the order of the text")
    func all() {
        let found = issues(#"{"listen": 7, "rooms": [{"history": "x"}, {"pattern": 3}], "nonsense": 1}"#)
        #expect(found.map { $0.prefix { $0 != " " } } == ["1:12:", "1:37:", "1:55:", "1:60:"])
    }
}
