import BridgeCore
import RoomsRuntime
import Testing

@Suite struct ConfigurationErrorTests {
    @Test(arguments: wholeFile + servers + endpoints + rooms + others)
    func `every mistake is reported with its place and what would be right`(_ mistake: ConfigurationMistake) {
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationDecoder.decode(
                Array(mistake.text.utf8),
                file: "config.json",
                secrets: SecretSource { _ in nil }
            )
        }
        #expect(error?.issues.map(\.description) == mistake.reports.map { "config.json:\($0)" })
    }

    static let wholeFile: [ConfigurationMistake] = [
        ConfigurationMistake("", "1:1: the file is empty, must hold a JSON object, see config.example.json"),
        ConfigurationMistake(" \n", "1:1: the file is empty, must hold a JSON object, see config.example.json"),
        ConfigurationMistake(
            "rooms: [shop]",
            "1:1: 'r' where a value has to stand, a value is true, false, null, a number, a string in double quotes, an object or an array"
        ),
        ConfigurationMistake(
            "{\n  \"servers\": {},\n}",
            "3:1: '}' where a key has to stand, take away the comma before it"
        ),
        ConfigurationMistake("[]", "1:1: is a list, must be a JSON object, see config.example.json"),
        ConfigurationMistake(
            "{}",
            #"1:1: "servers" is missing, must be an object such as {"main": {"url": "wss://…"}}"#,
            #"1:1: "endpoints" is missing, must be an object such as {"app": {"url": "http://…"}}"#,
            #"1:1: "rooms" is missing, must be a list such as [{"room": "shop", "to": ["app"]}]"#
        ),
        ConfigurationMistake("\u{feff}{}", "1:1: the text begins with a byte order mark, save it as UTF-8 without one"),
    ]

    static let servers: [ConfigurationMistake] = [
        .servers("{}", #"2:14: servers: is empty, must be an object such as {"main": {"url": "wss://…"}}"#),
        .servers("[]", #"2:14: servers: is a list, must be an object such as {"main": {"url": "wss://…"}}"#),
        .servers(
            #"{"main": "ws://127.0.0.1"}"#,
            #"2:23: servers.main: is a text, must be an object such as {"url": "wss://…/connection/websocket"}"#
        ),
        .servers(
            #"{"main": {}}"#,
            #"2:23: servers.main: "url" is missing, must be a text such as "wss://realtime.example.com/connection/websocket""#
        ),
        .servers(
            #"{"ma in": {"url": "ws://127.0.0.1:8000/x"}}"#,
            #"2:15: servers["ma in"]: is not a good name, must be 1 to 64 of: letters, digits, ".", "_", "-""#
        ),
        .servers(
            #"{"main": {"url": "http://127.0.0.1:8000/x"}}"#,
            #"2:31: servers.main.url: does not begin with ws:// or wss://, must be a text such as "wss://realtime.example.com/connection/websocket""#
        ),
        .servers(
            #"{"main": {"url": "ws://127.0.0.1:70000/x"}}"#,
            "2:31: servers.main.url: is not a good URL: a port is a number from 1 to 65535"
        ),
        .servers(
            #"{"main": {"url": ""}}"#,
            #"2:31: servers.main.url: is empty, must be a text such as "wss://realtime.example.com/connection/websocket""#
        ),
        .servers(
            #"{"main": {"url": "ws://127.0.0.1:8000/x"}, "main": {"url": "ws://127.0.0.1:8001/x"}}"#,
            "2:57: servers.main: stands here twice (first at line 2), take one out"
        ),
        .server(#""ulr": "x""#, #"2:75: servers.main.ulr: is not a known key; did you mean "url"?"#),
        .server(
            #""api": "http://127.0.0.1:8000/api""#,
            #"2:82: servers.main.api: is a text, must be an object such as {"url": "https://realtime.example.com/api", "key": {"credential": "NAME"}}"#
        ),
        .server(
            #""api": {"url": "http://127.0.0.1:8000/api"}"#,
            #"2:82: servers.main.api: "key" is missing, must be a reference such as {"credential": "NAME"}"#
        ),
        .server(
            #""api": {"key": {"env": "TOKEN"}}"#,
            #"2:82: servers.main.api: "url" is missing, must be a text such as "https://realtime.example.com/api""#,
            "2:90: servers.main.api.key: the environment has no variable TOKEN, must be set"
        ),
        .server(
            #""api": {"url": "http://api.example.com/api", "key": {"env": "TOKEN"}}"#,
            #"2:90: servers.main.api.url: sends the key unencrypted to another host (api.example.com), must be https, or set "insecure_http": true"#,
            "2:127: servers.main.api.key: the environment has no variable TOKEN, must be set"
        ),
        .server(
            #""api": {"url": "https://api.example.com/api?x=1", "key": {"env": "TOKEN"}}"#,
            #"2:90: servers.main.api.url: has a query in it, must be a text such as "https://realtime.example.com/api""#,
            "2:132: servers.main.api.key: the environment has no variable TOKEN, must be set"
        ),
        .server(
            #""api": {"url": "https://api.example.com/api", "key": "secret", "kez": 1}"#,
            #"2:128: servers.main.api.key: has the secret itself in the configuration, must be a reference: {"credential": "NAME"} (systemd), {"file": "PATH"} (mode 0600) or {"env": "NAME"}"#,
            #"2:138: servers.main.api.kez: is not a known key; did you mean "key"?"#
        ),
        .server(
            #""rooms_per_connection": 50"#,
            "2:75: servers.main.rooms_per_connection: is not supported by this version of RoomBridge, leave it out"
        ),
        .server(
            #""auth": {"route": "https://app.example.com/auth"}"#,
            "2:84: servers.main.auth.route: is not supported by this version of RoomBridge, leave it out"
        ),
        .server(
            #""auth": {}"#,
            #"2:83: servers.main.auth: is empty, must be an object with "token_secret" and "user", or with "tokens"; leave "auth" out where all rooms are public"#
        ),
        .server(
            #""auth": {"user": "bridge"}"#,
            #"2:83: servers.main.auth: "token_secret" is missing, must be a reference such as {"credential": "NAME"}"#
        ),
        .server(
            #""auth": {"token_secret": "hunter2", "user": "bridge"}"#,
            #"2:100: servers.main.auth.token_secret: has the secret itself in the configuration, must be a reference: {"credential": "NAME"} (systemd), {"file": "PATH"} (mode 0600) or {"env": "NAME"}"#
        ),
        .server(
            #""auth": {"token_secret": {"env": "A", "file": "b"}, "user": "bridge"}"#,
            #"2:100: servers.main.auth.token_secret: must name exactly one of "credential", "file" and "env""#
        ),
        .server(
            #""auth": {"token_secret": {"env": "NOT_SET"}, "user": "bridge"}"#,
            "2:100: servers.main.auth.token_secret: the environment has no variable NOT_SET, must be set"
        ),
        .server(
            #""auth": {"token_secret": {"credential": "x"}, "user": "bridge"}"#,
            #"2:100: servers.main.auth.token_secret: needs a credential of systemd and CREDENTIALS_DIRECTORY is not set, use {"file": …} without it"#
        ),
        .server(
            #""auth": {"token_secret": {"credential": "../x"}, "user": "bridge"}"#,
            #"2:115: servers.main.auth.token_secret.credential: is "../x", must be a name without "/""#
        ),
        .server(
            #""auth": {"token_secret": {"file": "/nonexistent/secret"}, "user": "bridge"}"#,
            "2:100: servers.main.auth.token_secret: /nonexistent/secret is not there, must be a file"
        ),
        .server(
            #""auth": {"tokens": {}}"#,
            #"2:94: servers.main.auth.tokens: is empty, must have "connection", "rooms" or both"#
        ),
        .server(
            #""auth": {"tokens": {"rooms": {"shop": "eyJ"}}, "user": "bridge"}"#,
            #"2:113: servers.main.auth.tokens.rooms.shop: has the secret itself in the configuration, must be a reference: {"credential": "NAME"} (systemd), {"file": "PATH"} (mode 0600) or {"env": "NAME"}"#,
            #"2:130: servers.main.auth.user: has no place beside "tokens", take one of them out"#
        ),
        .server(
            #""ca": "/nonexistent/ca.pem""#,
            "2:81: servers.main.ca: /nonexistent/ca.pem is not there, must be a file"
        ),
        .server(
            #""proxy": "http://user:password@proxy:3128""#,
            #"2:84: servers.main.proxy: has a user or a password in it, must be a text such as "http://proxy.example.com:3128""#
        ),
        .server(
            #""proxy": "proxy:3128""#,
            #"2:84: servers.main.proxy: is "proxy:3128", must be a text such as "http://proxy.example.com:3128" (http, https, socks5 or socks5h)"#
        ),
        .server(
            #""name": 5"#,
            "2:83: servers.main.name: is a number, must be a text that servers show as the client's name"
        ),
    ]

    static let endpoints: [ConfigurationMistake] = [
        .endpoints("null", #"3:16: endpoints: is null, must be an object such as {"app": {"url": "http://…"}}"#),
        .endpoint("{}", #"3:24: endpoints.app: has no target, must have "url" or "unix""#),
        .endpoint(
            #"{"url": 5}"#,
            #"3:32: endpoints.app.url: is a number, must be a text such as "http://127.0.0.1:9000/hooks/rooms""#
        ),
        .endpoint(
            #"{"url": "ftp://127.0.0.1/x"}"#,
            #"3:32: endpoints.app.url: does not begin with http:// or https://, must be a text such as "http://127.0.0.1:9000/hooks/rooms""#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1:0/x"}"#,
            "3:32: endpoints.app.url: is not a good URL: a port is a number from 1 to 65535"
        ),
        .endpoint(
            #"{"url": "http://app.example.com/x"}"#,
            #"3:32: endpoints.app.url: sends events unencrypted to another host (app.example.com), must be https, or set "insecure_http": true"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "unix": "/run/x.sock"}"#,
            #"3:32: endpoints.app.url: stands beside "unix", must be one of the two"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "path": "/y"}"#,
            #"3:62: endpoints.app.path: has a place only beside "unix", leave it out: the URL says it all"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "ca": "/x"}"#,
            "3:60: endpoints.app.ca: has a meaning only with https, leave it out"
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "concurrency": 0}"#,
            "3:69: endpoints.app.concurrency: is 0, must be a whole number from 1 to 256"
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "concurrency": 8.5}"#,
            "3:69: endpoints.app.concurrency: is 8.5, must be a whole number from 1 to 256"
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "status": {"099": "ok"}}"#,
            #"3:72: endpoints.app.status.099: has a key that is no status, must be one from 200 to 599"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "status": {"404": "evnt"}}"#,
            #"3:72: endpoints.app.status.404: is "evnt", must be one of "ok", "event", "retry", "endpoint", "overload"; "#
                + #"did you mean "event"?"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "status": 404}"#,
            #"3:64: endpoints.app.status: is a number, must be an object such as {"404": "event"}"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "retry_after_max": "1 day"}"#,
            "3:73: endpoints.app.retry_after_max: is \"1 day\", must be a length of time with a unit (ms, s, m, h, d) "
                + "such as \"24h\""
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "retry_after_max": "900d"}"#,
            "3:73: endpoints.app.retry_after_max: is \"900d\", must be at most \"31d\""
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "max_age": "500ms"}"#,
            "3:65: endpoints.app.max_age: is below a second, must be a time such as \"24h\""
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "overflow": "gaps"}"#,
            #"3:66: endpoints.app.overflow: is "gaps", must be one of "leave", "gap"; did you mean "gap"?"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "insecure_http": "yes"}"#,
            "3:71: endpoints.app.insecure_http: is a text, must be true or false"
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "signing": "whsec_abc"}"#,
            #"3:65: endpoints.app.signing: is a text, must be a list of references such as [{"credential": "NAME"}]"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "signing": []}"#,
            "3:65: endpoints.app.signing: is empty, must have at least one secret; leave it out to sign nothing"
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "signing": ["whsec_abc"]}"#,
            #"3:66: endpoints.app.signing[0]: has the secret itself in the configuration, must be a reference: {"credential": "NAME"} (systemd), {"file": "PATH"} (mode 0600) or {"env": "NAME"}"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "signing": [{"env": "A", "until": "tomorrow"}, {"env": "B"}]}"#,
            "3:66: endpoints.app.signing[0]: the environment has no variable A, must be set",
            #"3:88: endpoints.app.signing[0].until: is "tomorrow", must be a moment with its zone such as "2026-11-30T02:00:00Z""#,
            "3:101: endpoints.app.signing[1]: the environment has no variable B, must be set"
        ),
        // What has ended need not be there any more.
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "signing": [{"env": "A", "until": "2020-01-01T00:00:00Z"}]}"#,
            #"3:65: endpoints.app.signing: has an end ("until") for each secret, must have one without: requests would go out unsigned"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "bearer": "abc", "headers": {"Host": {"env": "A"}, "webhook-id": {"env": "A"}}}"#,
            #"3:64: endpoints.app.bearer: has the secret itself in the configuration, must be a reference: {"credential": "NAME"} (systemd), {"file": "PATH"} (mode 0600) or {"env": "NAME"}"#,
            "3:83: endpoints.app.headers.Host: is a header that RoomBridge writes itself, leave it out",
            "3:105: endpoints.app.headers.webhook-id: is a header that RoomBridge writes itself, leave it out"
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "bearer": {"env": "A", "until": "2030-01-01T00:00:00Z"}, "headers": {"Authorization": {"env": "B"}, "a b": {"env": "B"}}}"#,
            "3:64: endpoints.app.bearer: the environment has no variable A, must be set",
            "3:86: endpoints.app.bearer.until: has a meaning only in \"signing\", leave it out",
            "3:123: endpoints.app.headers.Authorization: stands beside \"bearer\", must be one of the two",
            "3:154: endpoints.app.headers[\"a b\"]: is no name of a header, must be made of letters, digits and \"-\""
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "client_certificate": "/c.pem", "client_key": {"env": "A"}}"#,
            "3:76: endpoints.app.client_certificate: has a meaning only with https, leave it out",
            "3:100: endpoints.app.client_key: has a meaning only with https, leave it out"
        ),
        .endpoint(
            #"{"url": "https://127.0.0.1/x", "client_certificate": "/c.pem"}"#,
            #"3:77: endpoints.app.client_certificate: stands alone, must have its "client_key" beside it, such as {"file": "PATH"}"#
        ),
        .endpoint(
            #"{"url": "https://127.0.0.1/x", "client_key": {"env": "A"}}"#,
            "3:69: endpoints.app.client_key: stands alone, must have its \"client_certificate\" beside it"
        ),
        .endpoint(
            #"{"unix": "/run/x.sock", "protocol": "ndjson", "bearer": {"env": "A"}}"#,
            "3:80: endpoints.app.bearer: has a meaning only with HTTP, leave it out",
            "3:80: endpoints.app.bearer: the environment has no variable A, must be set"
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "sining": []}"#,
            #"3:54: endpoints.app.sining: is not a known key; did you mean "signing"?"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "format": "cloudevent"}"#,
            #"3:64: endpoints.app.format: is "cloudevent", must be one of "standard", "ndjson", "cloudevents", "cloudevents-binary", "raw"; did you mean "cloudevents"?"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "batch": {"max_events": 1001, "linger": "1s"}}"#,
            "3:78: endpoints.app.batch.max_events: is 1001, must be a whole number from 1 to 1000",
            #"3:94: endpoints.app.batch.linger: is "1s", must be at most "50ms""#
        ),
        .endpoint(
            #"{"unix": "/run/s", "protocol": "ndjson", "batch": {"max_events": 2}}"#,
            "3:74: endpoints.app.batch: has a meaning only with HTTP, leave it out"
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "format": "raw", "batch": {"max_events": 2}}"#,
            #"3:80: endpoints.app.batch: has no meaning with format "raw", where a body has one event; leave it out"#
        ),
        .endpoint(
            #"{"unix": "/run/x.sock"}"#,
            #"3:24: endpoints.app: "protocol" is missing, must be "http" or "ndjson""#
        ),
        .endpoint(
            #"{"unix": "/run/x.sock", "protocol": "ndjson", "ack": "lines"}"#,
            #"3:77: endpoints.app.ack: is "lines", must be one of "read", "line", "protocol"; did you mean "line"?"#
        ),
        .endpoint(
            #"{"unix": "/run/x.sock", "protocol": "ndjson", "path": "/x"}"#,
            "3:78: endpoints.app.path: has a meaning only with HTTP, leave it out"
        ),
        .endpoint(
            #"{"unix": "/run/x.sock", "protocol": "http", "ack": "line"}"#,
            #"3:75: endpoints.app.ack: has a meaning only with "protocol": "ndjson", leave it out"#
        ),
        .endpoint(
            #"{"url": "http://127.0.0.1/x", "ack": "line"}"#,
            #"3:61: endpoints.app.ack: has a place only beside "unix", leave it out: the URL says it all"#
        ),
        .endpoint(
            #"{"unix": "/run/x.sock", "protocol": "htpp"}"#,
            #"3:60: endpoints.app.protocol: is "htpp", must be one of "http", "ndjson"; did you mean "http"?"#
        ),
        .endpoint(
            #"{"unix": "x.sock", "protocol": "http"}"#,
            #"3:33: endpoints.app.unix: is "x.sock", must be an absolute path"#
        ),
        .endpoint(
            #"{"unix": "/\#(String(repeating: "s", count: 199))", "protocol": "http"}"#,
            "3:33: endpoints.app.unix: is 200 bytes long, must have at most 107: put the socket elsewhere"
        ),
        .endpoint(
            #"{"unix": "/run/x.sock", "protocol": "http", "path": "hooks"}"#,
            #"3:76: endpoints.app.path: is "hooks", must begin with "/" and have no spaces, the rest percent-encoded"#
        ),
        .endpoint(
            #"{"unix": "/run/x.sock", "protocol": "http", "path": "/a b"}"#,
            #"3:76: endpoints.app.path: is "/a b", must begin with "/" and have no spaces, the rest percent-encoded"#
        ),
        .endpoint(
            #"{"unix": "/run/x\u0000.sock", "protocol": "http"}"#,
            "3:33: endpoints.app.unix: has a NUL character in it, must be the path of a Unix socket"
        ),
    ]
}
