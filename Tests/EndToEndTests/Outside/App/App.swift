import Rooms

/// What an app outside this package does with the library; `Snippets` are those of docs/LIBRARY.md.
@main struct App {
    struct Said: Decodable {
        let text: String
        let lines: [Double]
    }

    static func main() async throws {
        var options = RealtimeOptions()
        options.auth = "http://127.0.0.1:8000/auth"
        options.headers = { ["Authorization": "Bearer alice"] }
        let rt = try Realtime(url: "ws://127.0.0.1:8000/connection/websocket", options: options)
        let order = rt.join("order:1042")
        let chat = rt.join("chat:alice:bob") { room in
            room.on("joined") { _, meta in print("joined", meta.replayed) }
        }
        let said = chat.events("said", as: Said.self)
        try await chat.publish("said", ["text": "hello", "lines": [1, 2.5, 1e2]])
        try await chat.publish("said", ["text": 1, "lines": nil])
        try await chat.publish("said", ["text": "bye", "lines": []])
        for await (value, meta) in said {
            print("said", value.text, value.lines, meta.from ?? "the server")
            if value.text == "bye" { break }
        }
        print("skipped", chat.skipped, "of", try await chat.history(limit: 3).events.count)
        print("exact", try JSONValue(json: #"{"z":0.10,"a":9223372036854775807}"#))
        try await Snippets.run(rt, order, chat)
        await rt.close()
        print("closed", order.state, chat.state)
    }
}
