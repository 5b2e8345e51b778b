internal import RoomsRuntime
internal import RoomsWire

/// Gathers what is wrong with a configuration while it is read.
final class ConfigurationProblems {
    let file: ByteString
    private var found: [ConfigurationIssue] = []

    init(file: ByteString) {
        self.file = file
    }

    func report(_ issue: ConfigurationIssue) {
        found.append(issue)
    }

    func report(at position: JSONPosition, _ path: String, _ message: String) {
        let place = ConfigurationIssue.Place(line: position.line, column: position.column)
        found.append(ConfigurationIssue(file: file, place: place, path: path, message: message))
    }

    /// In the order of the text, those of other files behind.
    var issues: [ConfigurationIssue] {
        found.enumerated()
            .sorted { left, right in
                let (first, second) = (left.element, right.element)
                if first.file != second.file {
                    return first.file == file || (second.file != file && first.file < second.file)
                }
                if let firstPlace = first.place, let secondPlace = second.place, firstPlace != secondPlace {
                    return firstPlace < secondPlace
                }
                return left.offset < right.offset
            }
            .map(\.element)
    }
}

/// A value of the configuration with its path; each reader answers nil after it has reported what is wrong.
struct ConfigurationValue {
    let node: JSONNode
    let path: String
    let problems: ConfigurationProblems

    func reject(_ message: String) {
        problems.report(at: node.position, path, message)
    }

    /// A text that is not empty.
    func text(_ wanted: String) -> ByteString? {
        guard let text = node.string else { return mismatch(wanted) }
        if text.isEmpty {
            reject("is empty, must be \(wanted)")
            return nil
        }
        if text.bytes.contains(0) {
            reject("has a NUL character in it, must be \(wanted)")
            return nil
        }
        return text
    }

    /// One of the words.
    func word(of words: [ByteString]) -> ByteString? {
        let list = words.map { "\"\($0)\"" }.joined(separator: ", ")
        let wanted = words.count == 1 ? list : "one of \(list)"
        guard let text = node.string else { return mismatch(wanted) }
        if words.contains(text) { return text }
        let meant = words.count > 1 ? Suggestion.nearest(to: text, among: words) : nil
        let hint = meant.map { "; did you mean \"\($0)\"?" } ?? ""
        reject("is \"\(text)\", must be \(wanted)\(hint)")
        return nil
    }

    func integer(in range: ClosedRange<Int>) -> Int? {
        let wanted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        guard node.number != nil else { return mismatch(wanted) }
        guard let number: Int = node.integer(), range.contains(number) else {
            reject("is \(ByteString(node.raw)), must be \(wanted)")
            return nil
        }
        return number
    }

    func bool() -> Bool? {
        guard let value = node.bool else { return mismatch("true or false") }
        return value
    }

    func size(atLeast minimum: Int, written example: String) -> Int? {
        let wanted = "a size with a unit (B, KiB, MiB, GiB, TiB) such as \"\(example)\""
        guard let text = node.string else { return mismatch(wanted) }
        guard let size = Quantity.size(text) else {
            reject("is \"\(text)\", must be \(wanted)")
            return nil
        }
        guard size >= minimum else {
            reject("is \"\(text)\", must be at least \(minimum) bytes")
            return nil
        }
        return size
    }

    /// `most` is written like the value itself.
    func duration(upTo most: ByteString, written example: String) -> Duration? {
        let wanted = "a length of time with a unit (ms, s, m, h, d) such as \"\(example)\""
        guard let text = node.string else { return mismatch(wanted) }
        guard let duration = Duration(text: text) else {
            reject("is \"\(text)\", must be \(wanted)")
            return nil
        }
        if let limit = Duration(text: most), duration > limit {
            reject("is \"\(text)\", must be at most \"\(most)\"")
            return nil
        }
        return duration
    }

    func list(_ wanted: String) -> [ConfigurationValue]? {
        guard let elements = node.elements else { return mismatch(wanted) }
        return elements.enumerated().map {
            ConfigurationValue(node: $0.element, path: "\(path)[\($0.offset)]", problems: problems)
        }
    }

    /// The members of an object whose keys are names that the operator chose; a name that repeats is reported.
    func entries(_ wanted: String) -> [ConfigurationEntry]? {
        guard let members = node.members else { return mismatch(wanted) }
        var seen: [ByteString: JSONPosition] = [:]
        var entries: [ConfigurationEntry] = []
        for member in members {
            let name = member.key
            let value = ConfigurationValue(node: member.value, path: child(name), problems: problems)
            if let first = seen[name] {
                let message = "stands here twice (first at line \(first.line)), take one out"
                problems.report(at: member.keyPosition, value.path, message)
                continue
            }
            seen[name] = member.keyPosition
            entries.append(ConfigurationEntry(name: name, position: member.keyPosition, value: value))
        }
        return entries
    }

    /// An object with known keys, see `ConfigurationObject`.
    func object(
        _ wanted: String,
        keys: [ByteString],
        later: [ByteString] = []
    ) -> ConfigurationObject? {
        guard let entries = entries(wanted) else { return nil }
        return ConfigurationObject(self, entries, keys: keys, later: later)
    }

    private func child(_ name: ByteString) -> String {
        let isPlain = !name.isEmpty && name.bytes.allSatisfy(Self.isPlainInPath)
        let step = isPlain ? name.string : "[\"\(name)\"]"
        return path.isEmpty || !isPlain ? path + step : "\(path).\(step)"
    }

    private static func isPlainInPath(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "$"):
            true
        default: false
        }
    }

    /// Reports a value of the wrong type.
    func mismatch<Value>(_ wanted: String) -> Value? {
        let found =
            switch node.kind {
            case .object: "an object"
            case .array: "a list"
            case .string: "a text"
            case .number: "a number"
            case .bool(let value): "\(value)"
            case .null: "null"
            }
        reject("is \(found), must be \(wanted)")
        return nil
    }
}

/// A name that the operator chose, and what stands under it.
struct ConfigurationEntry {
    let name: ByteString
    let position: JSONPosition
    let value: ConfigurationValue

    func reject(_ message: String) {
        value.problems.report(at: position, value.path, message)
    }
}

/// An object whose keys are known: any other is reported, with what was probably meant.
struct ConfigurationObject {
    let value: ConfigurationValue
    private let values: [ByteString: ConfigurationValue]

    /// `later` are keys of the configuration that this version does not know yet.
    fileprivate init(
        _ value: ConfigurationValue,
        _ entries: [ConfigurationEntry],
        keys: [ByteString],
        later: [ByteString]
    ) {
        self.value = value
        var values: [ByteString: ConfigurationValue] = [:]
        for entry in entries {
            if keys.contains(entry.name) {
                values[entry.name] = entry.value
            } else if later.contains(entry.name) {
                entry.reject("is not supported by this version of RoomBridge, leave it out")
            } else if let meant = Suggestion.nearest(to: entry.name, among: keys + later) {
                entry.reject("is not a known key; did you mean \"\(meant)\"?")
            } else {
                let list = keys.map { "\"\($0)\"" }.joined(separator: ", ")
                entry.reject("is not a known key, must be one of \(list)")
            }
        }
        self.values = values
    }

    subscript(_ key: ByteString) -> ConfigurationValue? { values[key] }

    /// Reports a missing key at the object that lacks it.
    func required(_ key: ByteString, _ wanted: String) -> ConfigurationValue? {
        if let value = values[key] { return value }
        value.reject("\"\(key)\" is missing, must be \(wanted)")
        return nil
    }
}
