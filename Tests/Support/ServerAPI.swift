internal import Foundation
internal import FoundationNetworking

/// The server's HTTP API, as a publisher uses it.
package struct ServerAPI: Sendable {
    package let port: UInt16
    package let key: String

    package init(port: UInt16, key: String) {
        self.port = port
        self.key = key
    }

    /// Publishes each of `data` (JSON texts) to `room`.
    package func publish(_ room: String, _ data: [String]) async throws {
        let commands = data.map { #"{"publish":{"channel":"\#(room)","data":\#($0)}}"# }
        try await call("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
    }

    /// Publishes one event in each room.
    package func publishToEach(_ events: [(room: String, data: String)]) async throws {
        let commands = events.map { #"{"publish":{"channel":"\#($0.room)","data":\#($0.data)}}"# }
        try await call("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
    }

    package func publish(_ room: String, numbers: ClosedRange<Int>) async throws {
        try await publish(room, numbers.map { #"{"n":\#($0)}"# })
    }

    /// Publishes bytes that need not be JSON.
    package func publish(_ room: String, bytes: [UInt8]) async throws {
        let text = Data(bytes).base64EncodedString()
        try await call("publish", #"{"channel":"\#(room)","b64data":"\#(text)"}"#)
    }

    /// The body of the answer.
    @discardableResult
    package func call(_ method: String, _ body: String, under path: String = "/api") async throws -> String {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)/\(method)") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue(key, forHTTPHeaderField: "X-API-Key")
        request.httpBody = Data(body.utf8)
        let (data, response) = try await URLSession.shared.data(for: request)
        let text = String(decoding: data, as: UTF8.self)
        guard (response as? HTTPURLResponse)?.statusCode == 200, !text.contains(#""error""#) else {
            throw NotInTime(description: "the server answered \(text.prefix(200))")
        }
        return text
    }
}
