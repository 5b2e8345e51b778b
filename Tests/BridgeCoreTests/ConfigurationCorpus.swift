/// Configurations that the decoder and the schema must judge alike, beside those of `ConfigurationErrorTests`.
///
/// Secrets are the variable `S` and the credential `s`.
enum ConfigurationCorpus {
    static let secret = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"

    static let good: [String] =
        servers.map { whole(servers: $0) } + endpoints.map { whole(endpoint: $0) } + rooms.map { whole(rooms: $0) }
        + others.map { whole(more: $0) }

    static let bad: [String] =
        badServers.map { whole(servers: $0) } + badEndpoints.map { whole(endpoint: $0) }
        + badRooms.map { whole(rooms: $0) } + badOthers.map { whole(more: $0) }
        + [
            whole(
                servers: #"{"a": {"url": "ws://127.0.0.1"}, "b": {"url": "ws://127.0.0.1"}}"#,
                rooms: #"[{"room": "shop", "to": ["app"]}]"#
            )
        ]

    private static func whole(
        servers: String = #"{"main": {"url": "ws://127.0.0.1:8000/connection/websocket"}}"#,
        endpoint: String = #"{"url": "http://127.0.0.1:9000/hooks/rooms"}"#,
        rooms: String? = nil,
        more: String = ""
    ) -> String {
        let server = servers.contains("\"b\":") ? #", "server": "a""# : ""
        let routes = rooms ?? #"[{"room": "shop", "to": ["app"]\#(server)}]"#
        return #"{"servers": \#(servers), "endpoints": {"app": \#(endpoint)}, "rooms": \#(routes)\#(more)}"#
    }

    private static func server(_ rest: String) -> String { #"{"main": {"url": "wss://rt.example.com/x", \#(rest)}}"# }

    private static let servers = [
        #"{"main": {"url": "wss://realtime.example.com"}}"#,
        #"{"a": {"url": "ws://127.0.0.1"}, "b": {"url": "ws://127.0.0.1"}}"#,
        #"{"a.b_c-9": {"url": "ws://[::1]:8000/connection/websocket?cf_ws_frame_ping_pong=true"}}"#,
        #"{"main": {"url": "ws://localhost:65535"}}"#,
        #"{"main": {"url": "ws://localhost:00080/"}}"#,
        #"{"main": {"url": "wss://x?token=1"}}"#,
        server(#""name": "bridge 1""#),
        server(#""proxy": "http://proxy.example.com:3128""#),
        server(#""proxy": "socks5h://127.0.0.1:1080""#),
        server(#""ca": "/etc/ssl/certs/ca-certificates.crt""#),
        server(#""api": {"url": "https://rt.example.com/api", "key": {"env": "S"}}"#),
        server(#""api": {"url": "http://127.0.0.1:8000/api/", "key": {"credential": "s"}}"#),
        server(#""api": {"url": "http://10.0.0.1/api", "key": {"env": "S"}, "insecure_http": true}"#),
        server(#""auth": {"token_secret": {"env": "S"}, "user": "bridge"}"#),
        server(#""auth": {"token_secret": {"credential": "s"}, "user": "b", "subscription_secret": {"env": "S"}}"#),
        server(#""auth": {"tokens": {"connection": {"env": "S"}}}"#),
        server(#""auth": {"tokens": {"rooms": {}}}"#),
        server(#""auth": {"tokens": {"connection": {"credential": "s"}, "rooms": {"shop": {"env": "S"}}}}"#),
    ]

    private static let badServers = [
        #"{"main": {"url": "WS://127.0.0.1"}}"#,
        #"{"main": {"url": "ws://"}}"#,
        #"{"main": {"url": "ws://127.0.0.1:/"}}"#,
        #"{"main": {"url": "ws://127.0.0.1:0"}}"#,
        #"{"main": {"url": "ws://127.0.0.1:65536"}}"#,
        #"{"main": {"url": "ws://127.0.0.1:000080"}}"#,
        #"{"main": {"url": "ws://user@host/"}}"#,
        #"{"main": {"url": "ws://host/a b"}}"#,
        #"{"main": {"url": "ws://host/ä"}}"#,
        #"{"main": {"url": "ws://host/#top"}}"#,
        #"{"main": {"url": "ws://::1/"}}"#,
        #"{"main": {"url": "ws://[127.0.0.1]/"}}"#,
        #"{"": {"url": "ws://127.0.0.1"}}"#,
        #"{"main/1": {"url": "ws://127.0.0.1"}}"#,
        server(#""name": """#),
        server(#""name": null"#),
        server(#""proxy": "ftp://x""#),
        server(#""proxy": "http://""#),
        server(#""ca": """#),
        server(#""api": {"url": "https://rt.example.com/api"}"#),
        server(#""api": {"url": "http://10.0.0.1/api", "key": {"env": "S"}}"#),
        server(#""api": {"url": "https://rt.example.com/api?x=1", "key": {"env": "S"}}"#),
        server(#""api": {"url": "wss://rt.example.com/api", "key": {"env": "S"}}"#),
        server(#""auth": null"#),
        server(#""auth": {"user": "b", "subscription_secret": {"env": "S"}}"#),
        server(#""auth": {"token_secret": {"env": "S"}}"#),
        server(#""auth": {"token_secret": {"env": "S"}, "user": ""}"#),
        server(#""auth": {"token_secret": {}, "user": "b"}"#),
        server(#""auth": {"token_secret": {"credential": ".."}, "user": "b"}"#),
        server(#""auth": {"token_secret": {"env": 5}, "user": "b"}"#),
        server(#""auth": {"token_secret": {"env": "S"}, "user": "b", "tokens": {"connection": {"env": "S"}}}"#),
        server(#""auth": {"tokens": {"connection": "eyJ"}}"#),
        server(#""auth": {"tokens": {"rooms": []}}"#),
    ]

    private static func web(_ rest: String) -> String { #"{"url": "http://127.0.0.1:9000/x", \#(rest)}"# }

    private static let endpoints = [
        #"{"url": "https://app.example.com/hooks"}"#,
        #"{"url": "http://localhost/x"}"#,
        #"{"url": "http://[::1]:9000/x?a=b"}"#,
        #"{"url": "http://127.8.9.10"}"#,
        #"{"url": "http://10.0.0.1/x", "insecure_http": true}"#,
        #"{"url": "https://app.example.com/x", "insecure_http": false}"#,
        #"{"url": "https://app.example.com/x", "ca": "/etc/ssl/certs/ca-certificates.crt"}"#,
        #"{"unix": "/run/app.sock", "protocol": "http"}"#,
        #"{"unix": "/run/app.sock", "protocol": "http", "path": "/hooks?x=%20"}"#,
        #"{"unix": "/run/app.sock", "protocol": "http", "signing": [{"env": "S"}], "format": "raw"}"#,
        #"{"unix": "/\#(String(repeating: "x", count: 106))", "protocol": "http"}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson"}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "ack": "read", "concurrency": 256}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "ack": "line"}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "ack": "protocol", "max_age": "7d", "overflow": "gap"}"#,
        web(#""signing": [{"env": "S"}, {"credential": "s"}]"#),
        web(#""signing": [{"env": "S"}, {"credential": "gone", "until": "2020-01-01T00:00:00Z"}]"#),
        web(#""bearer": {"env": "S"}"#),
        web(#""headers": {"X-Api-Key": {"env": "S"}, "authorization": {"credential": "s"}}"#), web(#""headers": {}"#),
        web(#""concurrency": 1"#), web(#""concurrency": 256"#),
        web(#""status": {}"#),
        web(#""status": {"200": "ok", "404": "event", "500": "retry", "401": "endpoint", "599": "overload"}"#),
        web(#""conflict": "ack""#), web(#""conflict": "retry""#),
        web(#""on_poison": "block""#), web(#""on_poison": "block", "infer_poison": false"#),
        web(#""on_poison": "dead_letter", "infer_poison": true"#), web(#""infer_poison": true"#),
        web(#""retry_after_max": "31d""#), web(#""retry_after_max": "0s""#), web(#""retry_after_max": "744h""#),
        web(#""retry_after_max": "000000030m""#), web(#""retry_after_max": "999999999ms""#),
        web(#""overflow": "leave""#), web(#""max_age": "1s""#), web(#""max_age": "1000ms""#),
        web(#""max_age": "366d""#),
        web(#""format": "standard""#), web(#""format": "ndjson", "batch": {"max_events": 1000}"#),
        web(#""format": "cloudevents", "batch": {"max_events": 2, "max_bytes": "16MiB", "linger": "50ms"}"#),
        web(#""format": "cloudevents-binary""#),
        web(#""batch": {"max_events": 1, "max_bytes": "1KiB", "linger": "0s"}"#),
        web(#""batch": {"max_events": 100, "max_bytes": "1024B"}"#),
    ]

    private static let badEndpoints = [
        "[]",
        #"{"url": "http://example.com/127.0.0.1", "insecure_http": false}"#,
        #"{"url": "http://localhost.example.com/x"}"#,
        #"{"url": "http://[::2]/x"}"#,
        #"{"url": "http://128.0.0.1/x"}"#,
        #"{"url": "ws://127.0.0.1/x"}"#,
        #"{"protocol": "http"}"#,
        #"{"unix": "/run/app.sock", "protocol": "http", "insecure_http": true}"#,
        #"{"unix": "/run/app.sock", "protocol": "http", "ca": "/etc/ssl/certs/ca-certificates.crt"}"#,
        #"{"unix": "", "protocol": "http"}"#,
        #"{"unix": "/run/app.sock", "protocol": "http", "path": ""}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "signing": [{"env": "S"}]}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "format": "standard"}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "status": {}}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "conflict": "ack"}"#,
        web(#""protocol": "http""#),
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "bearer": {"env": "S"}}"#,
        #"{"unix": "/run/app.sock", "protocol": "ndjson", "headers": {}}"#,
        #"{"url": "https://app.example.com", "client_certificate": "/etc/ssl/certs/ca-certificates.crt"}"#,
        #"{"url": "https://app.example.com", "client_key": {"env": "S"}}"#,
        web(#""client_certificate": "/etc/ssl/certs/ca-certificates.crt", "client_key": {"env": "S"}"#),
        web(#""bearer": "token""#), web(#""bearer": {"env": "S", "until": "2030-01-01T00:00:00Z"}"#),
        web(#""headers": {"x-key": "text"}"#), web(#""headers": {"Content-Type": {"env": "S"}}"#),
        web(#""headers": {"webhook-id": {"env": "S"}}"#), web(#""headers": {"x key": {"env": "S"}}"#),
        web(#""headers": {"": {"env": "S"}}"#), web(#""signing": [{"env": "S"}, {"until": "2030-01-01T00:00:00Z"}]"#),
        web(#""signing": [{"env": "S", "credential": "s"}]"#),
        web(#""signing": [{"env": "S"}, {"env": "S", "until": 5}]"#),
        web(#""concurrency": 257"#), web(#""concurrency": "8""#), web(#""concurrency": -1"#),
        web(#""status": {"600": "ok"}"#), web(#""status": {"2xx": "ok"}"#), web(#""status": {"404": true}"#),
        web(#""conflict": true"#), web(#""on_poison": "drop""#),
        web(#""on_poison": "block", "infer_poison": true"#), web(#""infer_poison": 1"#),
        web(#""retry_after_max": "32d""#), web(#""retry_after_max": "745h""#),
        web(#""retry_after_max": "0000000030m""#),
        web(#""retry_after_max": "30""#), web(#""retry_after_max": "1w""#), web(#""retry_after_max": 30"#),
        web(#""max_age": "999ms""#), web(#""max_age": "0s""#), web(#""max_age": "367d""#), web(#""max_age": """#),
        web(#""format": "Standard""#), web(#""format": null"#),
        web(#""format": "cloudevents-binary", "batch": {"max_events": 2}"#),
        web(#""batch": {}"#), web(#""batch": {"max_events": 0}"#),
        web(#""batch": {"max_events": 2, "max_bytes": "1023B"}"#),
        web(#""batch": {"max_events": 2, "max_bytes": "17MiB"}"#),
        web(#""batch": {"max_events": 2, "linger": "51ms"}"#),
        web(#""batch": 100"#), web(#""batch": {"max_events": 2, "size": 1}"#),
    ]

    private static func room(_ rest: String) -> String { #"[{"room": "shop", "to": ["app"], \#(rest)}]"# }

    private static let rooms = [
        #"[{"room": "order:1042", "to": ["app"]}, {"room": "räum 2", "to": ["app"]}]"#,
        #"[{"room": "\#(String(repeating: "r", count: 1_024))", "to": ["app"]}]"#,
        room(#""server": "main""#), room(#""from": "now""#), room(#""from": "earliest""#),
        room(#""events": ["updated", "order.*", "*"]"#),
        room(#""types": ["member", "count", "state"]"#), room(#""events": [], "types": ["count"]"#),
    ]

    private static let badRooms = [
        "null", "[null]", "[{}]",
        #"[{"room": 5, "to": ["app"]}]"#,
        #"[{"room": "shop", "to": [5]}]"#,
        #"[{"room": "shop", "to": [""]}]"#,
        #"[{"room": "a\u0000b", "to": ["app"]}]"#,
        #"[{"rooms_file": "", "to": ["app"]}]"#,
        room(#""server": """#), room(#""from": "first""#), room(#""from": null"#),
        room(#""events": [""]"#), room(#""events": ["**"]"#), room(#""events": ["*a"]"#), room(#""events": "a""#),
        room(#""event": ["a"]"#), room(#""types": []"#), room(#""types": ["members"]"#), room(#""types": "count""#),
        room(#""types": ["count", "count"]"#), room(#""events": [""], "types": ["count"]"#),
    ]

    private static let others = [
        #", "$schema": "config.schema.json""#, #", "$schema": 5"#, #", "buffer": {}"#, #", "log": {}"#,
        #", "buffer": {"max_size": "1MiB"}"#, #", "buffer": {"max_size": "1048576B"}"#,
        #", "buffer": {"max_size": "8388607TiB"}"#, #", "log": {"level": "debug"}"#, #", "log": {"level": "error"}"#,
    ]

    private static let badOthers = [
        #", "buffer": []"#, #", "buffer": {"max_size": "1023KiB"}"#, #", "buffer": {"max_size": "1048575B"}"#,
        #", "buffer": {"max_size": "8388608TiB"}"#, #", "buffer": {"max_size": "1.5GiB"}"#,
        #", "buffer": {"max_size": "1 GiB"}"#, #", "buffer": {"max_size": "1gib"}"#, #", "buffer": {"size": "1GiB"}"#,
        #", "log": "info""#, #", "log": {"level": "trace"}"#, #", "log": {"level": 3}"#, #", "log": {"lvl": "info"}"#,
        #", "rooms": []"#, #", "x": 1"#, ",",
    ]
}
