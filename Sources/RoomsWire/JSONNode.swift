package import RoomsRuntime

/// One value of a `JSONDocument`: a view, cheap to copy.
package struct JSONNode: Sendable {
    let tape: JSONTape
    let index: Int

    package enum Kind: Sendable {
        case object([JSONMember])
        case array([JSONNode])
        case string(ByteString)
        /// The digits as they stand in the text.
        case number(ByteString)
        case bool(Bool)
        case null
    }

    package var kind: Kind {
        switch entry.kind {
        case .object: .object(members ?? [])
        case .array: .array(elements ?? [])
        case .string, .key: .string(text)
        case .number: .number(ByteString(raw))
        case .yes: .bool(true)
        case .no: .bool(false)
        case .null: .null
        }
    }

    /// Where the value stands in the text, quotes and brackets included.
    package var range: Range<Int> { Int(entry.start)..<Int(entry.end) }

    package var position: JSONPosition { JSONPosition(line: Int(entry.line), column: Int(entry.column)) }
    package var line: Int { Int(entry.line) }
    package var column: Int { Int(entry.column) }

    /// The value exactly as it stands in the text.
    package var raw: [UInt8] { Array(tape.bytes[range]) }

    /// The members in the order of the text, repeated keys included; nil if this is no object.
    package var members: [JSONMember]? {
        guard entry.kind == .object else { return nil }
        var members: [JSONMember] = []
        var key = index + 1
        while key < Int(entry.next) {
            members.append(JSONMember(keyNode: JSONNode(tape: tape, index: key)))
            key = Int(tape.entries[key + 1].next)
        }
        return members
    }

    /// Nil if this is no array.
    package var elements: [JSONNode]? {
        guard entry.kind == .array else { return nil }
        var elements: [JSONNode] = []
        var element = index + 1
        while element < Int(entry.next) {
            elements.append(JSONNode(tape: tape, index: element))
            element = Int(tape.entries[element].next)
        }
        return elements
    }

    /// The member of that key; of several the last one, as most parsers have it.
    ///
    /// Nil if there is none or this is no object.
    package subscript(_ key: ByteString) -> JSONNode? {
        guard entry.kind == .object else { return nil }
        var found: JSONNode?
        var candidate = index + 1
        while candidate < Int(entry.next) {
            if JSONNode(tape: tape, index: candidate).hasText(key) {
                found = JSONNode(tape: tape, index: candidate + 1)
            }
            candidate = Int(tape.entries[candidate + 1].next)
        }
        return found
    }

    /// Members of this object whose key stood before in it.
    package var duplicates: [JSONMember] {
        var seen: Set<ByteString> = []
        return (members ?? []).filter { !seen.insert($0.key).inserted }
    }

    /// Nil if this is no string.
    package var string: ByteString? { entry.kind == .string ? text : nil }

    /// The digits as they stand in the text; nil if this is no number.
    package var number: ByteString? { entry.kind == .number ? ByteString(raw) : nil }

    package var bool: Bool? {
        switch entry.kind {
        case .yes: true
        case .no: false
        default: nil
        }
    }

    package var isNull: Bool { entry.kind == .null }

    /// The number if it is written as an integer (no fraction, no exponent) that fits; never through a Double.
    package func integer<Value: FixedWidthInteger>(as type: Value.Type = Value.self) -> Value? {
        guard entry.kind == .number else { return nil }
        return JSONNumber.integer(tape.bytes[range])
    }

    private var entry: JSONEntry { tape.entries[index] }

    fileprivate var text: ByteString {
        let body = tape.bytes[Int(entry.start) + 1..<Int(entry.end) - 1]
        guard entry.isEscaped else { return ByteString(Array(body)) }
        return ByteString(body.withUnsafeBufferPointer { JSONText.unescape($0) })
    }

    private func hasText(_ key: ByteString) -> Bool {
        guard !entry.isEscaped else { return text == key }
        return tape.bytes[Int(entry.start) + 1..<Int(entry.end) - 1].elementsEqual(key.bytes)
    }
}

/// A key of an object and its value.
package struct JSONMember: Sendable {
    private let keyNode: JSONNode

    fileprivate init(keyNode: JSONNode) {
        self.keyNode = keyNode
    }

    package var key: ByteString { keyNode.text }
    /// Quotes included.
    package var keyRange: Range<Int> { keyNode.range }
    package var keyPosition: JSONPosition { keyNode.position }
    package var value: JSONNode { JSONNode(tape: keyNode.tape, index: keyNode.index + 1) }
}
