internal import Glibc
internal import RoomsRuntime
internal import RoomsWire

/// `roombridge dead-letters`: what an operator does with them, through the running service.
package struct DeadLetterCommand: Equatable, Sendable {
    package enum Action: Equatable, Sendable {
        case list
        case show(Int64)
        case retry(inOrder: Bool)
        case export
        case purge
    }

    package var action: Action
    /// Which are meant, where none of them is named: all.
    package var numbers: [Int64] = []
    package var endpoint: String?
    package var room: String?
    /// The control socket.
    package var socket: String?
    package var stateDirectory: String?

    package init(_ action: Action) {
        self.action = action
    }

    /// Does it; `say` gets lines without their ends.
    package func run(say: (String) -> Void) throws(ControlError) {
        let client = ControlClient(path: ControlSocket.path(given: socket, stateDirectory: stateDirectory))
        switch action {
        case .list: try list(client, say)
        case .show(let number): try show(number, client, say)
        case .export:
            try pages(client, hasBody: true) { letters in
                for letter in letters { say(String(decoding: letter.raw, as: UTF8.self)) }
            }
        case .retry(let inOrder):
            let answer = try client.call("POST", "/v1/dead-letters/retry", selection(inOrder ? "lane" : "none"))
            let run = inOrder ? "" : ", marked with roombridge-replay: \(answer["run"]?.string ?? .empty)"
            say("\(Self.count(answer)) sent again\(run)")
        case .purge:
            say("\(Self.count(try client.call("POST", "/v1/dead-letters/purge", selection(nil)))) removed")
        }
    }

    private static func count(_ answer: JSONNode) -> String {
        let count: Int = answer["count"]?.integer() ?? 0
        return count == 1 ? "1 dead letter is" : "\(count) dead letters are"
    }

    private func selection(_ order: ByteString?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            if !numbers.isEmpty {
                writer.key(literal: "numbers")
                writer.array { writer in for number in numbers { writer.integer(number) } }
            }
            if let endpoint {
                writer.key(literal: "endpoint")
                writer.string(endpoint)
            }
            if let room {
                writer.key(literal: "room")
                writer.string(room)
            }
            if numbers.isEmpty, endpoint == nil, room == nil {
                writer.key(literal: "all")
                writer.bool(true)
            }
            if let order {
                writer.key(literal: "order")
                writer.string(order)
            }
        }
        return writer.bytes
    }

    // MARK: reading

    private func pages(
        _ client: ControlClient,
        hasBody: Bool,
        _ take: ([JSONNode]) -> Void
    ) throws(ControlError) {
        var after: Int64? = 0
        while let start = after {
            var target = "/v1/dead-letters?after=\(start)"
            if let endpoint { target += "&endpoint=" + Self.encode(endpoint) }
            if let room { target += "&room=" + Self.encode(room) }
            if hasBody { target += "&body=1" }
            let page = try client.call("GET", target)
            take(page["dead_letters"]?.elements ?? [])
            after = page["next"]?.integer()
        }
    }

    private func list(_ client: ControlClient, _ say: (String) -> Void) throws(ControlError) {
        var rows = [["NUMBER", "ENDPOINT", "ROOM", "OFFSET", "REASON", "STATUS", "ATTEMPTS", "LAST", "RETRY"]]
        try pages(client, hasBody: false) { letters in
            rows += letters.map { letter in
                ["number", "endpoint", "room", "offset", "reason", "status", "attempts", "last_at", "retry"].map {
                    key in
                    letter[ByteString(key)].map(Self.text) ?? "-"
                }
            }
        }
        let widths = rows[0].indices.map { column in rows.reduce(0) { max($0, $1[column].count) } }
        for row in rows {
            let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            say(String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed()))
        }
    }

    private func show(_ number: Int64, _ client: ControlClient, _ say: (String) -> Void) throws(ControlError) {
        let letter = try client.call("GET", "/v1/dead-letters/\(number)")
        for member in letter.members ?? [] where member.key != "body" {
            say("\(member.key): \(Self.text(member.value))")
        }
        say("")
        say(String(decoding: letter["body"]?.raw ?? [], as: UTF8.self))
    }

    /// Foreign names are shown without what a terminal would act on.
    private static func text(_ value: JSONNode) -> String {
        if value.isNull { return "-" }
        return value.string?.description ?? String(decoding: value.raw, as: UTF8.self)
    }

    private static func encode(_ text: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
        let digits = Array("0123456789ABCDEF")
        return text.utf8.map { byte in
            plain.contains(byte)
                ? String(decoding: [byte], as: UTF8.self) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }.joined()
    }
}
