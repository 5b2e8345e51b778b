import Foundation
import Testing

/// Each kind of message has an id in the code and an entry in the catalog that `journalctl -x` shows.
@Suite struct MessageCatalogTests {
    private static let unlogged: Set<String> = ["HubCore", "roombench", "roomhub", "roomtail", "RoomsRuntime"]

    /// By the text of the message, as `MessageID` has them.
    private static let code: [(text: String, id: String)] = {
        let source = SourceTree.read("Sources/BridgeSystemd/MessageID.swift")
        let entry = /"((?:[^"\\]|\\.)*)":\s*"([0-9a-f]{32})"/
        return source.matches(of: entry).map {
            (text: $0.output.1.replacingOccurrences(of: "\\\"", with: "\""), id: String($0.output.2))
        }
    }()

    private struct Entry {
        var id: String
        var headers: [String: String] = [:]
        var body: [String] = []
    }

    private static let catalog: [Entry] = {
        var entries: [Entry] = []
        var isInBody = false
        for line in SourceTree.read("deploy/roombridge.catalog").components(separatedBy: "\n") {
            if line.hasPrefix("-- ") {
                entries.append(Entry(id: String(line.dropFirst(3))))
                isInBody = false
            } else if entries.isEmpty {
                continue
            } else if isInBody {
                entries[entries.count - 1].body.append(line)
            } else if line.isEmpty {
                isInBody = true
            } else if let colon = line.firstIndex(of: ":") {
                let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                entries[entries.count - 1].headers[String(line[..<colon])] = value
            }
        }
        return entries
    }()

    @Test func `code and catalog hold the same ids, each once`() {
        #expect(Self.code.count >= 24)
        #expect(Set(Self.code.map(\.id)).count == Self.code.count)
        #expect(Self.catalog.map(\.id).sorted() == Self.code.map(\.id).sorted())
    }

    @Test func `an entry is about its message and says something`() {
        let texts = Dictionary(Self.code.map { ($0.id, $0.text) }) { first, _ in first }
        for entry in Self.catalog {
            #expect(entry.id.wholeMatch(of: /[0-9a-f]{32}/) != nil)
            #expect(entry.headers["Subject"] == "RoomBridge: \(texts[entry.id] ?? "?")")
            #expect(entry.headers["Defined-By"] == "RoomBridge")
            #expect(entry.body.joined().count > 40, "\(entry.id) says nothing")
            #expect(entry.body.allSatisfy { $0.utf8.count <= 120 }, "\(entry.id) has long lines")
        }
    }

    @Test func `an entry names only fields that there are`() throws {
        let keys = SourceTree.read("Sources/RoomsRuntime/Log/LogRecord.swift").matches(of: /case \w+ = "([A-Z_]+)"/)
        let known = Set(keys.map { String($0.output.1) })
        #expect(known.contains("ROOM"))
        for entry in Self.catalog {
            for field in entry.body.joined(separator: " ").matches(of: /@([A-Z_]+)@/) {
                #expect(known.contains(String(field.output.1)), "\(entry.id): \(field.output.1)")
            }
        }
    }

    @Test func `every line of the service above debug has an id, and every id a line`() {
        let texts = Set(Self.code.map(\.text))
        var literals: Set<String> = []
        var logged: Set<String> = []
        let call =
            /(?:logger\.(?:critical|error|warning|notice|info)\(|\blog\(|level: [^,\n]+,\s*message: )\s*(?:\.\w+,)?\s*"((?:[^"\\]|\\.)*)"/
        for file in SourceTree.sources where file.name != "MessageID" {
            let text = file.text
            for literal in text.matches(of: /"((?:[^"\\\n]|\\.)*)"/) {
                literals.insert(literal.output.1.replacingOccurrences(of: "\\\"", with: "\""))
            }
            guard !Self.unlogged.contains(file.target) else { continue }
            for match in text.matches(of: call) where !match.output.0.contains(".debug,") {
                let message = match.output.1.replacingOccurrences(of: "\\\"", with: "\"")
                logged.insert(message)
                #expect(texts.contains(message), "\(file.path): \"\(message)\" has no id in MessageID and the catalog")
            }
        }
        #expect(logged.count >= 24)
        #expect(texts.subtracting(literals).isEmpty, "nothing says this any more")
    }

    @Test func `the lines that the operations page shows are lines that there are`() {
        let texts = Self.code.map(\.text)
        let blocks = SourceTree.read("docs/OPERATIONS.md").components(separatedBy: "```journal\n").dropFirst()
        let lines = blocks.flatMap { $0.components(separatedBy: "\n```")[0].components(separatedBy: "\n") }
        #expect(blocks.count >= 10)
        for line in lines {
            #expect(texts.contains { line == $0 || line.hasPrefix($0 + " ") }, "nothing says \"\(line)\"")
        }
    }
}
