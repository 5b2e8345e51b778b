package import RoomsRuntime

/// Which rooms a rule is for: bytes that stand for themselves, `{x}` for one or more bytes without `:`, and at the end
/// `{x*}` for any rest, also an empty one.
package struct RoomPattern: Equatable, Sendable, CustomStringConvertible {
    private enum Class: Equatable {
        case byte(UInt8)
        case label
        case any

        func takes(_ byte: UInt8) -> Bool {
            switch self {
            case .byte(let own): own == byte
            case .label: byte != UInt8(ascii: ":")
            case .any: true
            }
        }

        func meets(_ other: Class) -> Bool {
            switch (self, other) {
            case (.byte(let left), _): other.takes(left)
            case (_, .byte(let right)): takes(right)
            default: true
            }
        }
    }

    /// One byte of that class, or any number of them.
    private struct Step: Equatable {
        var kind: Class
        var repeats: Bool
    }

    private static let longest = 255
    private static let mostLabels = 16

    package let text: ByteString
    /// How many bytes stand for themselves: of two patterns that fit, the one with more wins.
    package let literalCount: Int
    private let steps: [Step]
    /// What every name that fits begins with.
    private let literalPrefix: ArraySlice<UInt8>

    package var description: String { text.description }

    /// The only name it is for; nil for a pattern with braces.
    var name: ByteString? { literalCount == steps.count ? text : nil }

    /// With a `user`, `{user}` stands for that name alone.
    package init(_ text: ByteString, user: ByteString? = nil) throws(PatternError) {
        guard !text.isEmpty else { throw PatternError("the pattern is empty", "name a room, or write {x*} for all") }
        guard text.count <= Self.longest else {
            throw PatternError("the pattern is longer than a room's name, which has at most 255 bytes", "shorten it")
        }
        guard text.bytes.count(where: { $0 == UInt8(ascii: "{") }) <= Self.mostLabels else {
            throw PatternError("the pattern has more than 16 labels", "let a last {rest*} stand for the rest of a name")
        }
        var steps: [Step] = []
        var rest = text.bytes[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "{") else {
                if byte == UInt8(ascii: "}") { throw PatternError("a } without a {", "write {x} for a part of a name") }
                steps.append(Step(kind: .byte(byte), repeats: false))
                continue
            }
            guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else {
                throw PatternError("a { without a }", "write {x} for a part of a name")
            }
            var label = rest[..<end]
            rest = rest[(end + 1)...]
            let isRest = label.last == UInt8(ascii: "*")
            if isRest { label.removeLast() }
            guard !label.isEmpty, label.allSatisfy(Self.isLabelByte) else {
                throw PatternError("a label that is not made of letters, digits and _", "write {id} or {rest*}")
            }
            if let user, label.elementsEqual("user".utf8) {
                guard !isRest else { throw PatternError("{user*} is no rest of a name", "write {user} or {rest*}") }
                guard !user.bytes.contains(UInt8(ascii: ":")) else {
                    throw PatternError("{user} is one part of a name, and \(user) has a : in it", "write the name out")
                }
                steps += user.bytes.map { Step(kind: .byte($0), repeats: false) }
                continue
            }
            if isRest {
                guard rest.isEmpty else {
                    throw PatternError("{\(ByteString(Array(label)))*} is not last", "put it last")
                }
                steps.append(Step(kind: .any, repeats: true))
            } else {
                steps += [Step(kind: .label, repeats: false), Step(kind: .label, repeats: true)]
            }
        }
        self.text = text
        self.steps = steps
        literalPrefix = text.bytes.prefix { $0 != UInt8(ascii: "{") }
        literalCount = steps.count { if case .byte = $0.kind { true } else { false } }
    }

    package func matches(_ name: ByteString) -> Bool {
        // Where the pattern may stand after the bytes so far.
        var places = reachable(from: [0])
        for byte in name.bytes {
            var next: Set<Int> = []
            for place in places where place < steps.count && steps[place].kind.takes(byte) {
                next.insert(steps[place].repeats ? place : place + 1)
            }
            if next.isEmpty { return false }
            places = reachable(from: next)
        }
        return places.contains(steps.count)
    }

    /// True when some name fits both.
    package func overlaps(_ other: RoomPattern) -> Bool {
        // Most patterns begin with bytes of their own.
        guard zip(literalPrefix, other.literalPrefix).allSatisfy({ $0 == $1 }) else { return false }
        let width = other.steps.count + 1
        var seen = [Bool](repeating: false, count: (steps.count + 1) * width)
        var open = [0]
        while let place = open.popLast() {
            guard !seen[place] else { continue }
            seen[place] = true
            let (mine, theirs) = (place / width, place % width)
            if mine == steps.count, theirs == other.steps.count { return true }
            let left = mine < steps.count ? steps[mine] : nil
            let right = theirs < other.steps.count ? other.steps[theirs] : nil
            if let left, left.repeats { open.append(place + width) }
            if let right, right.repeats { open.append(place + 1) }
            if let left, let right, left.kind.meets(right.kind) {
                open.append(place + (left.repeats ? 0 : width) + (right.repeats ? 0 : 1))
            }
        }
        return false
    }

    /// A step that repeats may also be passed over.
    private func reachable(from places: Set<Int>) -> Set<Int> {
        var all = places
        for place in places {
            var place = place
            while place < steps.count, steps[place].repeats {
                place += 1
                all.insert(place)
            }
        }
        return all
    }

    private static func isLabelByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension RoomPattern: ExpressibleByStringLiteral {
    package init(stringLiteral value: String) {
        do {
            try self.init(ByteString(value))
        } catch {
            preconditionFailure("\(value): \(error.what)")
        }
    }
}

/// What is wrong with a pattern, and what would be right.
package struct PatternError: Error, Equatable, Sendable {
    package let what: String
    package let remedy: String

    init(_ what: String, _ remedy: String) {
        self.what = what
        self.remedy = remedy
    }
}
