internal import RoomsRuntime
internal import RoomsWire

/// The status as a page for people: is it connected, what waits, who holds, since when, what comes next.
struct StatusPage {
    var hasColour = false
    /// Of the terminal; nil: lines are not cut.
    var width: Int?

    private enum Colour: String {
        case good = "\u{1b}[32m"
        case waiting = "\u{1b}[33m"
        case bad = "\u{1b}[31m"
        case heading = "\u{1b}[1m"
    }

    func lines(_ status: JSONNode) -> [String] {
        let now = Self.time(status["at"])
        let up = Self.length(from: Self.time(status["started_at"]), to: now)
        let state = Self.text(status["state"]) == "running" ? "runs" : "is stopping"
        var lines = ["RoomBridge \(Self.text(status["version"])) \(state), up \(up)", ""]
        lines += block("SERVER", status["servers"]) { server($0, now) }
        let rooms = status["rooms_not_joined"]?.elements ?? []
        if !rooms.isEmpty {
            lines += block("ROOM NOT JOINED", status["rooms_not_joined"], name: "room") { room in
                [(.bad, "\(Self.text(room["reason"])) (code \(Self.number(room["code"])))")]
            }
        }
        lines += block("ENDPOINT", status["endpoints"]) { endpoint($0, now) }
        lines += buffer(status["buffer"])
        let silent = (status["silent"]?.elements ?? []).map { Self.text($0) }
        if !silent.isEmpty {
            lines += [
                "", painted(cut("no answer from \(silent.joined(separator: ", ")): what is said of it is older"), .bad),
            ]
        }
        return lines
    }

    // MARK: what is said

    private typealias Row = (colour: Colour?, text: String)

    private func server(_ server: JSONNode, _ now: Int64) -> [Row] {
        let since = Self.length(from: Self.time(server["since"]), to: now)
        let rooms = server["rooms"]
        var counts =
            "\(Self.number(rooms?["joined"])) of \(Self.number(rooms?["configured"])) rooms joined"
        if Self.number(rooms?["left"]) > 0 {
            counts += ", \(Self.number(rooms?["left"])) left (their endpoints hold too much)"
        }
        if Self.number(rooms?["failed"]) > 0 { counts += ", \(Self.number(rooms?["failed"])) refused" }
        switch Self.text(server["state"]) {
        case "connected":
            let isWhole = Self.number(rooms?["joined"]) == Self.number(rooms?["configured"])
            return [(isWhole ? .good : .waiting, "connected for \(since), \(counts)")]
        case "waiting":
            let next = Self.length(from: now, to: Self.time(server["next_attempt_at"]))
            return [
                (.bad, "not connected for \(since): \(Self.text(server["reason"]))"),
                (nil, "next attempt in \(next); what happens is in the server's history until then"),
            ]
        case "held": return [(.waiting, "closed for \(since) until events can be stored again")]
        case let state: return [(.waiting, "\(state), for \(since)")]
        }
    }

    private func endpoint(_ endpoint: JSONNode, _ now: Int64) -> [Row] {
        let count = Self.number(endpoint["waiting_events"])
        var waiting =
            count == 0
            ? "nothing waits"
            : "\(count) \(count == 1 ? "event waits" : "events wait"), \(Quantity.rough(Self.number(endpoint["waiting_bytes"])))"
        let letters = Self.number(endpoint["dead_letters"])
        if letters > 0 { waiting += ", \(letters) dead \(letters == 1 ? "letter" : "letters")" }
        let rooms = Self.number(endpoint["waiting_rooms"])
        var rows: [Row] = []
        if Self.text(endpoint["state"]) == "holding" {
            let since = Self.length(from: Self.time(endpoint["since"]), to: now)
            let next = Self.length(from: now, to: Self.time(endpoint["next_attempt_at"]))
            rows.append((.bad, "holds for \(since), \(waiting)"))
            if let reason = endpoint["reason"] { rows.append((nil, "\(Self.text(reason))")) }
            let failures = Self.number(endpoint["failures"])
            rows.append((nil, "failed \(failures == 1 ? "once" : "\(failures) times"), next attempt in \(next)"))
        } else if rooms > 0 {
            rows.append(
                (.waiting, "takes events, but \(rooms == 1 ? "1 room waits" : "\(rooms) rooms wait"); \(waiting)")
            )
            if let reason = endpoint["reason"] { rows.append((nil, "\(Self.text(reason))")) }
        } else {
            rows.append((letters > 0 ? .waiting : .good, "takes events, \(waiting)"))
        }
        if let hint = endpoint["hint"] { rows.append((nil, Self.text(hint))) }
        return rows
    }

    private func buffer(_ buffer: JSONNode?) -> [String] {
        let count = Self.number(buffer?["events"])
        let size = Quantity.rough(Self.number(buffer?["bytes"]))
        let limit = Quantity.rough(Self.number(buffer?["limit"]))
        var lines = [cut("buffer: \(count) \(count == 1 ? "event" : "events"), \(size) of \(limit)")]
        if buffer?["full"]?.bool == true {
            lines.append(
                painted(cut("the buffer is full: nothing more comes in until endpoints accept what waits"), .bad)
            )
        }
        if buffer?["disk_full"]?.bool == true {
            lines.append(painted(cut("the disk is full: nothing more comes in until there is space"), .bad))
        }
        return lines
    }

    // MARK: how it looks

    /// A heading, then each element by its name with its rows beside it, and an empty line.
    private func block(
        _ heading: String,
        _ elements: JSONNode?,
        name key: ByteString = "name",
        _ rows: (JSONNode) -> [Row]
    ) -> [String] {
        let elements = elements?.elements ?? []
        let names = elements.map { Self.text($0[key]) }
        let column = min(24, names.map(\.count).max() ?? 0) + 2
        var lines = [painted(heading, .heading)]
        for (element, name) in zip(elements, names) {
            var label = name
            for row in rows(element) {
                // A long name has a line of its own.
                if label.count > 24 {
                    lines.append(cut("  \(label)"))
                    label = ""
                }
                let text = cut("  \(label)\(String(repeating: " ", count: column - label.count))\(row.text)")
                lines.append(row.colour.map { painted(text, $0) } ?? text)
                label = ""
            }
        }
        return lines + [""]
    }

    private func cut(_ text: String) -> String {
        guard let width, text.count > width else { return text }
        return text.prefix(width - 3) + "..."
    }

    private func painted(_ text: String, _ colour: Colour) -> String {
        hasColour ? "\(colour.rawValue)\(text)\u{1b}[0m" : text
    }

    /// Foreign text is shown without what a terminal would act on.
    private static func text(_ node: JSONNode?) -> String {
        node?.string?.description ?? "?"
    }

    private static func number(_ node: JSONNode?) -> Int64 {
        node?.integer() ?? 0
    }

    /// Milliseconds since 1970; 0 when it is not one of our times.
    private static func time(_ node: JSONNode?) -> Int64 {
        node?.string.flatMap { UTCTime.milliseconds($0.string) } ?? 0
    }

    private static func length(from start: Int64, to end: Int64) -> String {
        Duration.milliseconds(max(0, end - start)).shortText
    }
}
