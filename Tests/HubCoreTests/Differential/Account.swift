/// What a server said in a scenario, with our names in place of its own.
struct Account: Sendable {
    enum Entry: Sendable {
        case heard(Heard)
        /// The upgrade: which subprotocol was chosen.
        case opened(String)
        case refused(String)
        /// `1006` where TCP ended without a close frame.
        case ended(String)
        /// An answer of the server API.
        case answered(Heard)
    }

    struct Line: Sendable, CustomStringConvertible {
        var entry: Entry
        var step: Int

        var description: String {
            switch entry {
            case .heard(let heard), .answered(let heard): "\(heard)"
            case .opened(let text), .refused(let text), .ended(let text): text
            }
        }

        func isLike(_ other: Line) -> Bool {
            switch (entry, other.entry) {
            case (.heard(let left), .heard(let right)), (.answered(let left), .answered(let right)): left.isLike(right)
            case (.opened(let left), .opened(let right)), (.refused(let left), .refused(let right)): left == right
            case (.ended(let left), .ended(let right)): left == right
            default: false
            }
        }
    }

    /// By connection; the answers of the server API are under `api`.
    private(set) var lines: [String: [Line]] = [:]
    private(set) var names: [String] = []
    var largestFrame = 0
    /// Why it went no further.
    var stop: String?

    static let api = "api"

    mutating func note(_ entry: Entry, of name: String, step: Int) {
        if lines[name] == nil { names.append(name) }
        lines[name, default: []].append(Line(entry: entry, step: step))
    }

    var count: Int { lines.values.reduce(0) { $0 + $1.count } }

    /// The first difference of each connection but those left out.
    func differences(from truth: Account, in scenario: String) -> [String] {
        let ignored = Exceptions.ignored[scenario] ?? []
        let unsaid = Exceptions.unsaid[scenario]
        func lines(_ account: Account, _ name: String) -> [Line] {
            let lines = account.lines[name] ?? []
            guard let unsaid else { return Self.ordered(lines) }
            return Self.ordered(lines.filter { line in !unsaid.contains { line.description.contains($0) } })
        }
        var found: [String] = []
        for name in truth.names + names.filter({ truth.lines[$0] == nil }) where !ignored.contains(name) {
            let left = lines(truth, name)
            let right = lines(self, name)
            guard
                let index = (0..<max(left.count, right.count)).first(where: { index in
                    !(left.indices.contains(index) && right.indices.contains(index) && right[index].isLike(left[index]))
                })
            else { continue }
            let (expected, got) = (left.dropFirst(index).first, right.dropFirst(index).first)
            found.append(
                """
                \(name), message \(index + 1), step \(expected?.step ?? got?.step ?? 0)
                    expected: \(expected?.description ?? "nothing more")
                    heard:    \(got?.description ?? "nothing more")
                """
            )
        }
        if largestFrame > 16 { found.append("a frame of \(largestFrame) messages") }
        if found.isEmpty, stop != truth.stop { found.append("went as far as: \(stop ?? "the end")") }
        return found
    }

    /// The order of pushes of different rooms is not determined: those next to each other in the order of the rooms.
    private static func ordered(_ lines: [Line]) -> [Line] {
        func room(_ line: Line) -> String? {
            guard case .heard(let heard) = line.entry, heard.isRoomPush else { return nil }
            return heard.room
        }
        var ordered: [Line] = []
        var run: [(room: String, line: Line)] = []
        func flush() {
            let sorted = run.enumerated().sorted { ($0.element.room, $0.offset) < ($1.element.room, $1.offset) }
            ordered += sorted.map(\.element.line)
            run = []
        }
        for line in lines {
            if let room = room(line) {
                run.append((room, line))
            } else {
                flush()
                ordered.append(line)
            }
        }
        flush()
        return ordered
    }
}
