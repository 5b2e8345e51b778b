import Glibc
import Rooms

extension Entry {
    private enum Colour: String {
        case dim = "2"
        case bold = "1"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
    }

    /// As a line for people: time, room, event, who sent it, data.
    func text(inColour isColoured: Bool) -> String {
        func paint(_ text: String, _ colour: Colour) -> String {
            isColoured && !text.isEmpty ? "\u{1b}[\(colour.rawValue)m\(text)\u{1b}[0m" : text
        }
        var words = [paint(meta.at.clock, .dim), paint(room.word, .cyan)]
        if isOwn {
            // No published name stands so: `word` puts one that begins with a dash in quotes.
            let isTrouble = event == "error" || event == "kicked"
            words.append(paint("-- \(event)", isTrouble ? .red : .dim))
        } else {
            words.append(paint(event.word, .bold))
            if let user = meta.from { words.append(paint("<\(user.word)>", .green)) }
            if meta.replayed { words.append(paint("(replayed)", .yellow)) }
            if isBinary { words.append("(binary)") }
        }
        if !(isOwn && data.array == []) { words.append("\(data)".printable) }
        return words.joined(separator: " ")
    }
}

extension String {
    /// The text as it is where it is one plain word; else as a JSON string.
    fileprivate var word: String {
        let isPlain =
            !isEmpty && !hasPrefix("-") && !hasPrefix("(") && !hasPrefix("<")
            && unicodeScalars.allSatisfy { scalar in
                scalar.properties.isAlphabetic
                    || (0x21...0x7e).contains(scalar.value) && scalar != "\"" && scalar != "\\"
            }
        return isPlain ? self : JSONValue(self).description.printable
    }
}

extension Int64 {
    /// The time of day here, of milliseconds since 1970.
    fileprivate var clock: String {
        var seconds = time_t(self / 1_000)
        var time = tm()
        guard localtime_r(&seconds, &time) != nil else { return "--:--:--" }
        return [time.tm_hour, time.tm_min, time.tm_sec].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
    }
}
