internal import RoomsRuntime

/// A configuration that is wrong, where, and a piece of what must be said about it.
struct BadConfiguration: Sendable, CustomStringConvertible {
    let description: String
    let text: String
    /// `line:column: path: …`, or what is left of that.
    let complaints: [String]

    init(_ description: String, _ text: String, _ complaints: String...) {
        self.description = description
        self.text = text
        self.complaints = complaints
    }

    static let all: [BadConfiguration] = [
        BadConfiguration("empty", "", ":1:1: the file is empty"),
        BadConfiguration("white space alone", " \n\t\n", ":1:1: the file is empty"),
        BadConfiguration("not JSON", "servers:\n  main: x\n", ":1:1: "),
        BadConfiguration("JSON that breaks off", "{\n  \"servers\": {", ":2:15: "),
        BadConfiguration("a list", "[]", ":1:1: ", "must be a JSON object"),
        BadConfiguration(
            "a wrong type",
            whole(endpoint: #""url": 9000"#),
            ":4:30: endpoints.app.url: is a number, must be a text"
        ),
        BadConfiguration(
            "an unknown endpoint name",
            whole(rooms: #"{ "room": "shop", "to": ["apq"] }"#),
            ":7:30: rooms[0].to[0]: there is no endpoint \"apq\"; did you mean \"app\"?"
        ),
        BadConfiguration(
            "the same room twice for one endpoint",
            whole(rooms: #"{ "room": "shop", "to": ["app"] }, { "room": "shop", "to": ["app"] }"#),
            ":7:",
            "rooms[1]",
            "\"shop\"",
            "\"app\""
        ),
        BadConfiguration(
            "a port out of range",
            whole(endpoint: #""url": "http://127.0.0.1:99999/hook""#),
            ":4:30: endpoints.app.url: is not a good URL",
            "port"
        ),
        BadConfiguration(
            "a Unix path of 200 characters",
            whole(
                endpoint: #""unix": "/\#(String(repeating: "x", count: 199))", "protocol": "http", "path": "/hook""#
            ),
            ":4:31: endpoints.app.unix: is 200 bytes long, must have at most 107"
        ),
        BadConfiguration(
            "an unknown key",
            whole(endpoint: #""url": "http://127.0.0.1:9000/", "singing": []"#),
            "endpoints.app.singing",
            "did you mean \"signing\"?"
        ),
        BadConfiguration(
            "a secret in the file itself",
            whole(endpoint: #""url": "http://127.0.0.1:9000/", "signing": ["whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"]"#),
            "endpoints.app.signing[0]: has the secret itself in the configuration, must be a reference"
        ),
        BadConfiguration(
            "more than a connection can hold",
            whole(rooms: (1...101).map { #"{ "room": "r\#($0)", "to": ["app"] }"# }.joined(separator: ", ")),
            "100"
        ),
        BadConfiguration(
            "several mistakes at once",
            """
            {
              "servers": { "main": { "url": "gopher://x" } },
              "endpoints": { "app": { "url": "http://127.0.0.1:0/" } },
              "rooms": [ { "room": "shop", "to": ["web"], "from": "yesterday" } ],
              "bufer": {}
            }
            """,
            ":2:",
            "servers.main.url",
            ":3:",
            "endpoints.app.url",
            ":4:",
            "rooms[0].to[0]",
            "rooms[0].from",
            ":5:",
            "bufer",
            "did you mean \"buffer\"?"
        ),
    ]

    private static func whole(
        endpoint: String = #""url": "http://127.0.0.1:9000/hook""#,
        rooms: String = #"{ "room": "shop", "to": ["app"] }"#
    ) -> String {
        """
        {
          "servers": { "main": { "url": "ws://127.0.0.1:8000/connection/websocket" } },
          "endpoints": {
            "app": {          \(endpoint) }
          },
          "rooms": [
            \(rooms)
          ]
        }
        """
    }
}
