import Rooms

/// One line of the output: something that happened in a room.
struct Entry {
    let room: String
    let event: String
    let data: JSONValue
    let meta: EventMeta
    /// The room's own event, such as `joined`; else one that was published, by whatever name.
    let isOwn: Bool

    /// One that was published.
    init(_ room: Room, _ event: String, _ data: JSONValue, _ meta: EventMeta) {
        (self.room, self.event, self.data, self.meta, isOwn) = (room.name, event, data, meta, false)
    }

    init(_ room: Room, own event: String, _ data: JSONValue, _ meta: EventMeta) {
        (self.room, self.event, self.data, self.meta, isOwn) = (room.name, event, data, meta, true)
    }

    /// As one JSON object.
    ///
    /// Own events stand under another key, so that nobody can publish what looks like one.
    var json: String {
        var members: [(key: String, value: JSONValue)] = [
            ("room", JSONValue(room)), (isOwn ? "own" : "event", JSONValue(event)),
        ]
        if !meta.id.isEmpty { members.append(("id", JSONValue(meta.id))) }
        if !isOwn { members.append(("from", meta.from.map { JSONValue($0) } ?? .null)) }
        members.append(("at", JSONValue(meta.at)))
        if !isOwn { members.append(("replayed", JSONValue(meta.replayed))) }
        members.append((isBinary ? "data_base64" : "data", data))
        return JSONObject(members).description.printable
    }

    /// It was published as bytes that are not JSON, and is written as base64.
    var isBinary: Bool { data.string == nil && data.data != nil }
}

extension String {
    /// Without characters that do something to a terminal, or to the order in which it shows what follows: as JSON, in
    /// whose strings alone they stand, it says the same.
    var printable: String {
        guard unicodeScalars.contains(where: \.isTreacherous) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            guard scalar.isTreacherous else { return text.unicodeScalars.append(scalar) }
            for unit in String(scalar).utf16 {
                let digits = String(unit, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isTreacherous: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        // Joiners are part of words and emoji.
        case .format: value != 0x200c && value != 0x200d
        default: false
        }
    }
}
