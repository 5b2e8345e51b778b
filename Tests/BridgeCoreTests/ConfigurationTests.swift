import BridgeDelivery
import BridgeCore
import BridgeModel
import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import Testing

@Suite struct ConfigurationTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func write(_ text: String, to name: String, mode: Int = 0o600) throws {
        try folder.write(text, to: name)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.file(name))
    }

    private func load(_ text: String, environment: [ByteString: ByteString] = [:]) throws -> BridgeConfiguration {
        try write(text, to: "config.json")
        return try ConfigurationDecoder.load(folder.file("config.json"), secrets: SecretSource { environment[$0] })
    }

    private func issues(_ text: String) throws -> [String] {
        do {
            _ = try load(text)
            return []
        } catch let error as ConfigurationError {
            return error.issues.map { $0.description.replacing(folder.path + "/", with: "") }
        }
    }

    private static func small(_ rooms: String) -> String {
        """
        {"servers": {"main": {"url": "ws://[::1]/c"}}, "endpoints": {"a": {"url": "http://localhost/"}, "b": {"url": "https://b/"}},
         "rooms": [\(rooms)]}
        """
    }

    @Test func `everything that can be set is read`() async throws {
        try write("secret\n", to: "token")
        try write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", to: "signing", mode: 0o640)
        let authority = try await TestAuthority()
        try write(String(contentsOfFile: authority.file, encoding: .utf8), to: "ca.pem", mode: 0o644)
        let configuration = try load(
            """
            {
              "$schema": "deploy/config.schema.json",
              "servers": {
                "main": {
                  "url": "wss://realtime.example.com/connection/websocket",
                  "auth": {
                    "token_secret": { "file": "token" }, "user": "bridge", "subscription_secret": { "env": "SECOND" }
                  },
                  "ca": "ca.pem", "proxy": "http://proxy:3128", "name": "bridge-1"
                },
                "other": {
                  "url": "ws://127.0.0.1:8000/c",
                  "auth": { "tokens": { "connection": { "env": "SECOND" }, "rooms": { "r": { "file": "token" } } } },
                  "api": { "url": "https://api.example.com:8443/centrifugo/", "key": { "file": "token" } }
                },
                "open": { "url": "ws://127.0.0.1:8001/c", "api": { "url": "http://10.0.0.1", "insecure_http": true, "key": { "env": "SECOND" } } }
              },
              "endpoints": {
                "app": { "url": "https://app.example.com:8443/hooks?x=1", "signing": [ { "file": "signing" } ], "ca": "ca.pem",
                  "format": "cloudevents", "batch": { "max_events": 500, "max_bytes": "2MiB", "linger": "20ms" } },
                "php": { "unix": "/run/app/http.sock", "protocol": "http", "path": "/hooks", "concurrency": 256,
                  "format": "ndjson", "batch": { "max_events": 1000 } },
                "lan": {
                  "url": "http://10.0.0.1/", "insecure_http": true, "conflict": "ack", "retry_after_max": "2h",
                  "on_poison": "dead_letter", "infer_poison": true, "batch": { "max_events": 1 },
                  "status": { "404": "event", "503": "retry", "418": "ok", "402": "endpoint", "400": "overload" }
                }
              },
              "rooms": [
                { "server": "main", "room": "order:1042", "events": ["updated", "shipped.*"], "to": ["app"] },
                { "server": "main", "room": "order:1042", "to": ["php"], "from": "earliest" },
                {
                  "server": "open", "room": "order:1042", "to": ["lan", "php"], "from": "now", "events": [],
                  "types": ["state", "member"]
                }
              ],
              "buffer": { "max_size": "512MiB" },
              "log": { "level": "debug" }
            }
            """,
            environment: ["SECOND": "x"]
        )
        #expect(configuration.servers.map(\.key) == ["main", "other", "open"])
        let main = configuration.servers[0]
        #expect(main.url.text == "wss://realtime.example.com/connection/websocket")
        #expect(main.ca == ByteString(folder.file("ca.pem")))
        #expect(main.proxy == "http://proxy:3128")
        #expect(main.clientName == "bridge-1")
        guard
            case .signing("bridge", .file(ByteString(folder.file("token"))), .environment("SECOND")) = main
                .authentication
        else { return #expect(Bool(false), "\(main.authentication)") }
        guard case .tokens(.environment("SECOND"), let rooms) = configuration.servers[1].authentication else {
            return #expect(Bool(false), "\(configuration.servers[1].authentication)")
        }
        #expect(rooms == ["r": .file(ByteString(folder.file("token")))])
        guard case .anonymous = configuration.servers[2].authentication else { return #expect(Bool(false)) }
        #expect(configuration.servers[2].clientName == "roombridge")
        #expect(
            configuration.servers.map { $0.api?.history.text } == [
                nil, "https://api.example.com:8443/centrifugo/history", "http://10.0.0.1/history",
            ]
        )
        #expect(configuration.servers[1].api?.key == .file(ByteString(folder.file("token"))))

        #expect(configuration.endpoints.map(\.name) == ["app", "php", "lan"])
        let app = configuration.endpoints[0]
        guard case .url(let url, mayBePlain: false) = app.target else { return #expect(Bool(false)) }
        #expect(url.text == "https://app.example.com:8443/hooks?x=1")
        #expect(app.signing.map(\.secret) == [.file(ByteString(folder.file("signing")))])
        #expect(app.concurrency == 8)
        guard case .unix("/run/app/http.sock", "/hooks") = configuration.endpoints[1].target else {
            return #expect(Bool(false))
        }
        #expect(configuration.endpoints[1].concurrency == 256)
        #expect(app.format == .cloudEvents)
        #expect(app.batch == BatchLimits(maxEvents: 500, maxBytes: 2 * 1024 * 1024, linger: .milliseconds(20)))
        #expect(configuration.endpoints[1].batch == BatchLimits(maxEvents: 1_000, maxBytes: 1024 * 1024, linger: .zero))
        #expect(configuration.endpoints[2].batch == nil)
        guard case .url(_, mayBePlain: true) = configuration.endpoints[2].target else { return #expect(Bool(false)) }
        let lan = configuration.endpoints[2]
        #expect(lan.longestPause == .seconds(7_200) && app.longestPause == .seconds(86_400))
        #expect(lan.infersPoison && lan.givesUp && !app.infersPoison && app.givesUp)
        #expect(
            lan.statusPolicy.overrides == [
                409: .accept, 404: .refuse, 503: .fail, 418: .accept, 402: .unauthorized, 400: .overload,
            ]
        )
        #expect(app.statusPolicy.overrides.isEmpty)

        #expect(configuration.rooms.map(\.server) == [0, 2])
        let order = configuration.rooms[0]
        #expect(order.start == .earliest)
        #expect(order.rules.map(\.endpoints) == [[0], [1]])
        #expect(order.rules.map(\.events) == [[.exact("updated"), .prefix("shipped.")], nil])
        #expect(configuration.rooms[1].rules.map(\.endpoints) == [[2, 1]])
        #expect(configuration.rooms[1].rules.map(\.events) == [[]])
        #expect(configuration.rooms[1].rules.map(\.notices) == [[.state, .member]])
        #expect(order.rules.map(\.notices) == [[], []])
        #expect(configuration.buffer.maxSize == 512 << 20)
        #expect(configuration.logLevel == .debug)
    }

    @Test func `what is left out has its default`() throws {
        let configuration = try load(Self.small(#"{"room": "shop", "to": ["a"]}"#))
        #expect(configuration.buffer.maxSize == 1 << 30)
        #expect(configuration.logLevel == .info)
        #expect(configuration.rooms[0].start == .now)
        #expect(configuration.endpoints[0].signing.isEmpty)
    }

    @Test func `the example in the repository is good`() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let configuration = try ConfigurationDecoder.load(root.appendingPathComponent("config.example.json").path)
        #expect(configuration.rooms.map(\.name) == ["shop"])
        #expect(configuration.servers[0].url.text == "ws://127.0.0.1:8000/connection/websocket")
    }

    @Test func `names are bytes: two spellings of one letter are two rooms`() throws {
        let configuration = try load(
            Self.small(#"{"room": "caf\#u{e9}", "to": ["a"]}, {"room": "cafe\#u{301}", "to": ["a"]}"#)
        )
        #expect(configuration.rooms.count == 2)
    }

    @Test func `a file of rooms has one name a line, as bytes`() throws {
        try write("# orders\norder:1\n\n#user\norder:2 \n", to: "rooms.txt")
        let configuration = try load(Self.small(#"{"rooms_file": "rooms.txt", "to": ["a"], "from": "earliest"}"#))
        #expect(configuration.rooms.map(\.name) == ["order:1", "#user", "order:2 "])
        #expect(configuration.rooms.allSatisfy { $0.start == .earliest })
    }

    @Test func `what is wrong in a file of rooms is reported at its line there`() throws {
        try Data("a\nb\u{0}\nshop\na\n".utf8 + [0xff, 0x0a]).write(to: URL(fileURLWithPath: folder.file("rooms.txt")))
        let text = Self.small(#"{"room": "shop", "to": ["a"]}, {"rooms_file": "rooms.txt", "to": ["a", "x"]}"#)
        let found = try issues(text)
        #expect(
            found == [
                #"config.json:2:83: rooms[1].to[1]: there is no endpoint "x", must be one of "a", "b""#,
                "rooms.txt:2:1: has a NUL character in it, must be the name of a room",
                #"rooms.txt:3:1: room "shop" goes to endpoint "a" already, must be named once for it (one entry can list all its events)"#,
                #"rooms.txt:4:1: room "a" goes to endpoint "a" already, must be named once for it (one entry can list all its events)"#,
                "rooms.txt:5:1: is not UTF-8, must be the name of a room",
            ]
        )
        try write("a\r\nb\r\n", to: "rooms.txt")
        #expect(
            try issues(Self.small(#"{"rooms_file": "rooms.txt", "to": ["a"]}"#)) == [
                "rooms.txt:1:1: ends with a carriage return, must end with a line feed alone (dos2unix)"
            ]
        )
    }

    @Test func `one room more than a connection holds is an error, once`() throws {
        let entries = (1...102).map { #"{"room": "r\#($0)", "to": ["a"]}"# }
        #expect(try issues(Self.small(entries[..<100].joined(separator: ",\n"))).isEmpty)
        #expect(
            try issues(Self.small(entries.joined(separator: ",\n"))) == [
                #"config.json:102:10: rooms[100].room: is room 101 of server "main", must be at most 100 in this version of RoomBridge"#
            ]
        )
    }

    @Test func `entries of one room cannot begin it at two places`() throws {
        let text = Self.small(
            #"{"room": "r", "to": ["a"], "from": "now"}, {"room": "r", "to": ["b"], "from": "earliest"}"#
        )
        #expect(
            try issues(text) == [
                #"config.json:2:64: rooms[1].room: room "r" begins "now" in another entry, must have the same "from" in both"#
            ]
        )
    }

    @Test func `an entry says its server where there are several`() throws {
        let text = """
            {"servers": {"x": {"url": "ws://h/"}, "y": {"url": "ws://h/"}}, "endpoints": {"a": {"url": "http://localhost/"}},
             "rooms": [{"room": "r", "to": ["a"]}]}
            """
        #expect(try issues(text) == [#"config.json:2:12: rooms[0]: "server" is missing, must be one of "x", "y""#])
    }

    @Test func `all mistakes of a file come at once, in the order of its text`() throws {
        let text = """
            {
              "servers": { "main": { "url": "gopher://x" } },
              "endpoints": { "app": { "url": "http://127.0.0.1:0/" } },
              "rooms": [ { "room": "shop", "to": ["web"], "from": "yesterday" } ],
              "bufer": {}
            }
            """
        let places = try issues(text).map { $0.split(separator: ": ").prefix(2).joined(separator: ": ") }
        #expect(
            places == [
                "config.json:2:33: servers.main.url", "config.json:3:34: endpoints.app.url",
                "config.json:4:39: rooms[0].to[0]", "config.json:4:55: rooms[0].from", "config.json:5:3: bufer",
            ]
        )
    }

    @Test(arguments: [
        ("whsec_c2hvcnQ=", "fewer than 24 bytes"), ("whsec_!", "not base64"), ("whsec_", "empty"),
    ])
    func `a signing secret that is none is reported without showing it`(_ secret: String, _ complaint: String) throws {
        try write(secret, to: "signing")
        let text = """
            {"servers": {"main": {"url": "ws://h/"}}, "endpoints": {"a": {"url": "http://localhost/", "signing": [{"file": "signing"}]}},
             "rooms": [{"room": "r", "to": ["a"]}]}
            """
        let found = try #require(try issues(text).first)
        #expect(found.hasPrefix("config.json:1:103: endpoints.a.signing[0]: "), "\(found)")
        #expect(found.contains(complaint), "\(found)")
        #expect(secret == "whsec_" || !found.contains(secret))
    }

    @Test func `a configuration that cannot be read says so`() {
        let missing = #expect(throws: ConfigurationError.self) { try ConfigurationDecoder.load(folder.file("none")) }
        #expect(missing?.description == "\(folder.path)/none: is not there, must be a file")
        let directory = #expect(throws: ConfigurationError.self) { try ConfigurationDecoder.load(folder.path) }
        #expect(directory?.description == "\(folder.path): is not a regular file, must be one")
    }
}
