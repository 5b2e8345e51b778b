import BridgeCore
import RoomsRuntime
import Testing

@Suite struct ConfigurationSummaryTests {
    @Test func `the summary says what is joined and where events go, and nothing secret`() throws {
        let configuration = try ConfigurationDecoder.decode(
            Array(
                """
                {
                  "servers": {
                    "main": {
                      "url": "wss://rt.example.com/ws?key=hidden",
                      "auth": { "token_secret": { "env": "SECRET" }, "user": "bridge" }
                    },
                    "lab": { "url": "ws://[::1]:8000/ws", "api": { "url": "http://[::1]:8000/api", "key": { "env": "SECRET" } } }
                  },
                  "endpoints": {
                    "app": { "url": "https://app.example.com/hooks?token=hidden", "signing": [ { "env": "SIGNING" }, { "env": "GONE", "until": "2020-01-01T00:00:00Z" } ],
                      "bearer": { "env": "SECRET" }, "headers": { "X-Key": { "env": "SECRET" } } },
                    "php": { "unix": "/run/php.sock", "protocol": "http", "path": "/h", "concurrency": 2 },
                    "idle": { "url": "http://127.0.0.1:9000/" }
                  },
                  "rooms": [
                    { "server": "main", "room": "shop", "events": ["sold", "stock.*"], "to": ["app", "php"] },
                    { "server": "lab", "room": "shop", "to": ["php"], "from": "earliest", "types": ["state", "member"] }
                  ],
                  "buffer": { "max_size": "2048MiB" }
                }
                """.utf8
            ),
            file: "c.json",
            secrets: SecretSource { ["SECRET": "hidden", "SIGNING": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"][$0] }
        )
        let summary = ConfigurationSummary(configuration).description
        #expect(
            summary == """
                server main: wss://rt.example.com/ws, with own tokens as user bridge, 1 room
                server lab: ws://[::1]:8000/ws, without a token, history through its API where it has to be, 1 room
                endpoint app: https://app.example.com/hooks, signed (1 more secret has ended), with a bearer token, x-key, at most 8 requests at once
                endpoint php: /run/php.sock (HTTP over a Unix socket, /h), unsigned, at most 2 requests at once
                endpoint idle: http://127.0.0.1:9000/, unsigned, at most 8 requests at once, but no room goes there
                room shop of main: sold, stock.* -> app, php, from now
                room shop of lab: all events, room.member, room.state -> php, from the earliest event
                buffer: 2GiB
                """
        )
        #expect(!summary.contains("hidden"))
    }
}
