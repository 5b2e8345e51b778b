import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsWire

@testable import HubCore

/// Turns the lines of a transcript into steps and an account.
struct RecordingReader {
    private(set) var steps: [Scenario.Step] = []
    private(set) var account = Account()
    private var naming = Naming()
    /// Seconds since 1970 at the beginning.
    private var beginning = 0.0
    private var formats: [String: Bool] = [:]
    private var ended: Set<String> = []
    /// Pings of the server that were not answered yet, in recordings where they are not what it is about.
    private var pings: [String: Int] = [:]
    private var isAboutPings = false

    /// `lines` are all of the transcript.
    mutating func begin(_ lines: [RecordedLine]) {
        isAboutPings = lines[0].text("scenario")?.hasSuffix("ping") ?? false
        beginning = Self.beginning(of: lines)
        ended = []
    }

    func recording(_ name: String, _ setup: Scenario.Setup) -> Recording {
        Recording(scenario: Scenario(name: name, setup: setup, steps: steps), account: account)
    }

    /// From the server's time where it told one; the recorder's tokens lasted 600 seconds else.
    private static func beginning(of lines: [RecordedLine]) -> Double {
        var end = 0.0
        for line in lines {
            let text = String(decoding: line.bytes, as: UTF8.self)
            if let told = text.firstMatch(of: #/"time":(\d+)/#), let time = Double(told.1) {
                return time / 1_000 - line.at
            }
            if let told = line.node["means"]?.elements?.first?["connect"]?["time"]?.integer(as: Int64.self) {
                return Double(told) / 1_000 - line.at
            }
            guard line.text("from") == "client" else { continue }
            for match in text.matches(of: tokenText) {
                let claims = Base64.decodeURL(Array(match.2.utf8)) ?? []
                end = max(
                    end,
                    (try? JSONDocument.parse(claims).root["exp"]?.integer(as: Int64.self)).map(Double.init) ?? 0
                )
            }
        }
        return end - 600
    }

    mutating func read(_ line: RecordedLine) throws {
        switch line.event {
        case "open": open(line)
        case "refused": refused(line)
        case "close": close(line)
        default:
            if let note = line.text("note") {
                read(note: note)
            } else if let api = line.text("api") {
                call(api, line)
            } else if line.text("from") == "client" {
                try say(line)
            } else if line.text("from") == "server" {
                try hear(line)
            }
        }
    }

    private mutating func add(_ step: Scenario.Step) { steps.append(step) }

    private mutating func note(_ entry: Account.Entry, of name: String) {
        account.note(entry, of: name, step: steps.count)
    }

    // MARK: connections

    private func connection(_ line: RecordedLine, path: String) -> Scenario.Connection {
        var connection = Scenario.Connection(name: line.connection, path: path)
        connection.protocols = line.node["offered"]?.elements?.compactMap { $0.string?.string } ?? []
        connection.headers = headers(line, "request_headers").filter { !$0.hasPrefix("Sec-WebSocket-Protocol") }
        connection.answersPings = !isAboutPings
        return connection
    }

    private func headers(_ line: RecordedLine, _ key: ByteString) -> [String] {
        line.node[key]?.members?.map { "\($0.key.string): \($0.value.string?.string ?? "")" } ?? []
    }

    private mutating func open(_ line: RecordedLine) {
        ended.remove(line.connection)
        add(.open(connection(line, path: line.text("path") ?? "/")))
        let chosen = line.text("chosen")
        formats[line.connection] = chosen == "centrifuge-protobuf"
        note(.opened("101 \(chosen ?? "no subprotocol")"), of: line.connection)
    }

    private mutating func refused(_ line: RecordedLine) {
        var connection = connection(line, path: line.text("request_path") ?? "/")
        connection.protocols = ["centrifuge-json"]
        add(.open(connection))
        let status: Int = line.node["status"]?.integer() ?? 0
        note(.refused("\(status) \(line.text("body") ?? "")"), of: line.connection)
    }

    private mutating func close(_ line: RecordedLine) {
        guard ended.insert(line.connection).inserted else { return }
        let reason = line.text("reason") ?? ""
        let code: Int = line.node["code"]?.integer() ?? 0
        // Where the server said 1000, the recorder took it for its own.
        if line.text("by") == "client", reason.isEmpty {
            add(.close(line.connection))
        } else {
            add(.end(of: line.connection))
            note(.ended("\(code) \(reason)"), of: line.connection)
        }
        // Nobody hears when the server has told the others who are there.
        add(.pause(.milliseconds(50)))
    }

    // MARK: clients

    private static var tokenText: Regex<(Substring, Substring, Substring, Substring)> {
        #/(eyJ[\w\-]+)\.([\w\-]+)\.([\w\-]+)/#
    }

    private mutating func say(_ line: RecordedLine) throws {
        let name = line.connection
        let bytes = line.bytes
        let isPong = bytes == Array("{}".utf8) || bytes == [0]
        if isPong, let open = pings[name], open > 0 {
            pings[name] = open - 1
            return
        }
        if let count: Int = line.node["bytes"]?.integer() {
            let (begins, ends) = (line.text("begins") ?? "", line.text("ends") ?? "")
            let filling = String(repeating: "x", count: count - begins.utf8.count - ends.utf8.count)
            return add(.text(on: name, begins + filling + ends))
        }
        guard let hex = line.text("hex") else {
            let isText = formats[name] != true
            return add(
                isText
                    ? .text(on: name, template(String(decoding: bytes, as: UTF8.self), at: line.at))
                    : .bytes(on: name, bytes, isText: true)
            )
        }
        if line.node["means"] == nil {
            let isJSON = formats[name] != true && String(validating: bytes, as: UTF8.self) != nil
            return add(
                isJSON
                    ? .text(on: name, String(decoding: bytes, as: UTF8.self), isBinary: true) : .bytes(on: name, bytes)
            )
        }
        var commands: [Command] = []
        try Hex.bytes(hex).withUnsafeBytes { try ProtobufCodec.decodeCommands($0) { commands.append($0) } }
        add(.commands(on: name, commands.map { template($0, at: line.at) }))
    }

    private func template(_ text: String, at moment: Double) -> String {
        naming.template(text).replacing(Self.tokenText) { match in
            let claims = String(decoding: Base64.decodeURL(Array(match.2.utf8)) ?? [], as: UTF8.self)
            let isGood = Conversation.token(claims, header: Self.header(match.1)).string == String(match.0)
            let timed = relative(naming.template(claims), at: moment)
            return isGood ? Template.token(timed) : Template.badToken(timed)
        }
    }

    private static func header(_ text: Substring) -> String {
        String(decoding: Base64.decodeURL(Array(text.utf8)) ?? [], as: UTF8.self)
    }

    /// Times as seconds from the moment of sending.
    private func relative(_ text: String, at moment: Double) -> String {
        text.replacing(#/"(exp|nbf|iat|expire_at)": ?([1-9]\d{9})/#) { match in
            let seconds = (Int64(match.2) ?? 0) - Int64(beginning + moment)
            return "\"\(match.1)\":\"@\(seconds)\""
        }
    }

    private func template(_ command: Command, at moment: Double) -> Command {
        func place(_ text: ByteString) -> ByteString { ByteString(template(text.string, at: moment)) }
        /// Quotes, because that is how epochs stand in texts.
        func epoch(_ told: ByteString) -> ByteString {
            ByteString(String(naming.template("\"\(told.string)\"").dropFirst().dropLast()))
        }
        func placed(_ request: SubscribeRequest) -> SubscribeRequest {
            var request = request
            (request.token, request.epoch) = (place(request.token), epoch(request.epoch))
            return request
        }
        var command = command
        switch command.request {
        case .connect(var request):
            request.token = place(request.token)
            for index in request.subs.indices { request.subs[index].request = placed(request.subs[index].request) }
            command.request = .connect(request)
        case .subscribe(let request): command.request = .subscribe(placed(request))
        case .history(var request):
            if let since = request.since { request.since?.epoch = epoch(since.epoch) }
            command.request = .history(request)
        case .refresh(let token): command.request = .refresh(token: place(token))
        case .subRefresh(let channel, let token): command.request = .subRefresh(channel: channel, token: place(token))
        default: break
        }
        return command
    }

    // MARK: the server

    private mutating func hear(_ line: RecordedLine) throws {
        let name = line.connection
        var heard: [Heard] = []
        if line.text("hex") != nil {
            var replies: [Reply] = []
            try line.bytes.withUnsafeBytes { try ProtobufCodec.decodeReplies($0) { replies.append($0) } }
            for reply in replies { heard.append(Heard(reply, by: name, &naming)) }
        } else {
            for piece in line.bytes.split(separator: 0x0a, omittingEmptySubsequences: false) {
                heard.append(Heard(json: Array(piece), by: name, &naming))
            }
        }
        if !isAboutPings {
            pings[name, default: 0] += heard.count { $0.kind == .ping }
            heard.removeAll { $0.kind == .ping }
        }
        guard !heard.isEmpty else { return }
        add(.hear(on: name, heard.count))
        for message in heard { note(.heard(message), of: name) }
    }

    private mutating func call(_ api: String, _ line: RecordedLine) {
        var call = Scenario.Call(line: api)
        if let hex = line.text("request_hex") {
            call.body = Hex.bytes(hex)
        } else if let text = line.node["request"]?.string?.string {
            call.body = Array(relative(naming.template(text), at: line.at).utf8)
        }
        if line.node["headers"] != nil { call.headers = headers(line, "headers") }
        add(.call(call))
        var heard = Heard(json: line.node["response"]?.string?.bytes ?? [], by: Account.api, &naming)
        let status: Int = line.node["status"]?.integer() ?? 0
        // The type of an answer to bytes that are no text was not written down.
        let type = line.node["type"].map { $0.string?.string ?? "null" } ?? "application/json"
        heard.text = "\(status) \(type) \(heard.text)"
        note(.answered(heard), of: Account.api)
    }

    private mutating func read(note: String) {
        if let match = note.firstMatch(of: #/published n=(\d+)\.\.(\d+) to (\S+) \(not shown\)/#),
            let first = Int(match.1), let last = Int(match.2)
        {
            add(.publish(first...last, room: String(match.3)))
        } else if let match = note.firstMatch(of: #/^(\d+) s later$/#), let seconds = Int(match.1) {
            add(.pause(.seconds(seconds)))
        } else if note.contains("SIG") {
            add(.stop(isKilled: note.contains("SIGKILL")))
        } else if note == "server started again" {
            add(.start)
        }
    }
}
