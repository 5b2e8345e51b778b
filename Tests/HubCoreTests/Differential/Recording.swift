import Foundation
import RoomsRuntime
import RoomsWire

/// A transcript as a scenario, and what the real server said in it.
struct Recording: Sendable {
    /// What clients and publishers did, and how many messages were waited for.
    let scenario: Scenario
    let account: Account

    /// One recording of the transcripts `names`, made one after the other with the same server.
    static func read(_ names: String...) throws -> Recording {
        var reader = RecordingReader()
        var setup = Scenario.Setup.main
        for name in names {
            let lines = try RecordedLine.all(of: name)
            setup = lines[0].setup
            reader.begin(lines)
            for line in RecordedLine.inOrder(lines.dropFirst()) { try reader.read(line) }
        }
        return reader.recording(names.joined(separator: " and "), setup)
    }

    /// One recording for each group of connections that were open together, of a transcript in which those have nothing to
    /// do with each other: with timers in them they are played side by side this way.
    static func parts(of name: String) throws -> [Recording] {
        let lines = try RecordedLine.all(of: name)
        return try RecordedLine.parts(RecordedLine.inOrder(lines.dropFirst())).enumerated().map { index, part in
            var reader = RecordingReader()
            reader.begin(lines)
            for line in part { try reader.read(line) }
            return reader.recording("\(name), part \(index + 1)", lines[0].setup)
        }
    }
}

/// A line of a transcript.
struct RecordedLine {
    let node: JSONNode

    init(_ node: JSONNode) {
        self.node = node
    }

    func text(_ key: ByteString) -> String? { node[key]?.string?.string }

    var connection: String { text("conn") ?? "" }
    var event: String { text("event") ?? "" }
    var at: Double { Double(node["at"]?.number?.string ?? "") ?? 0 }
    var bytes: [UInt8] { text("hex").map { Hex.bytes($0) } ?? node["text"]?.string?.bytes ?? [] }
    var setup: Scenario.Setup { Scenario.Setup(rawValue: text("config") ?? "") ?? .main }

    /// What a call of the API may cause.
    private var isPushOrEnd: Bool {
        if event == "close" { return true }
        guard text("from") == "server" else { return false }
        guard let means = node["means"]?.elements else {
            return bytes.split(separator: 0x0a).allSatisfy { $0.starts(with: Array(#"{"push""#.utf8)) }
        }
        return means.allSatisfy { $0["push"] != nil }
    }

    private func calls(_ method: String) -> Bool { text("api")?.hasSuffix("/api/\(method)") == true }

    private static var folder: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Transcripts")
    }

    static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".ndjson") }.map { String($0.dropLast(7)) }
    }

    static func all(of name: String) throws -> [RecordedLine] {
        let text = [UInt8](try Data(contentsOf: folder.appending(path: "\(name).ndjson")))
        return try text.split(separator: 0x0a).map {
            RecordedLine(try JSONDocument.parse(Array($0), maximumDepth: 512).root)
        }
    }

    /// Calls of the API were written down when they were answered: before what they caused, if that came at the same time.
    static func inOrder(_ lines: some Sequence<RecordedLine>) -> [RecordedLine] {
        var ordered: [RecordedLine] = []
        for line in lines {
            var place = ordered.count
            if line.text("api") != nil {
                while place > 0, ordered[place - 1].isPushOrEnd, ordered[place - 1].at == line.at { place -= 1 }
            }
            if line.event == "close" {
                // A connection that the API ends may hear what is published right after, or not: its end comes first.
                while place > 1, ordered[place - 1].calls("publish") { place -= 1 }
                if place == 0 || !ordered[place - 1].calls("disconnect") { place = ordered.count }
            }
            ordered.insert(line, at: place)
        }
        return ordered
    }

    static func parts(_ lines: [RecordedLine]) -> [[RecordedLine]] {
        var open: Set<String> = []
        var parts: [[RecordedLine]] = [[]]
        for line in lines {
            if line.event == "open", open.isEmpty, parts[parts.count - 1].contains(where: { $0.event == "open" }) {
                parts.append([])
            }
            parts[parts.count - 1].append(line)
            if line.event == "open" { open.insert(line.connection) }
            if line.event == "close" { open.remove(line.connection) }
        }
        return parts
    }
}
