internal import RoomsRuntime
package import RoomsWire

// MARK: - Reading

extension JSONValue {
    /// The value that a JSON text (UTF-8) stands for.
    ///
    /// Strict: RFC 8259 and nothing beyond it, UTF-8 checked, nested at most `maximumDepth` levels. A surrogate escape
    /// without its other half becomes U+FFFD.
    ///
    /// - Throws: `JSONSyntaxError`, which says where the first mistake is.
    public init(json: [UInt8]) throws(JSONSyntaxError) {
        do throws(JSONError) {
            self = JSONTreeBuilder.tree(of: try JSONDocument.parse(json, maximumDepth: Self.maximumDepth))
        } catch {
            throw JSONSyntaxError(line: error.line, column: error.column, reason: "\(error.what); \(error.remedy)")
        }
    }

    /// The value that a JSON text stands for.
    ///
    /// - Throws: `JSONSyntaxError`, which says where the first mistake is.
    public init(json: String) throws(JSONSyntaxError) {
        try self.init(json: Array(json.utf8))
    }

    static func isNumber(_ text: UnsafeRawBufferPointer) -> Bool {
        // Only numbers begin so, and white space would stand behind them.
        guard let first = text.first, first == UInt8(ascii: "-") || isDigit(first), isDigit(text[text.count - 1])
        else { return false }
        return JSONScanner.isValid(text)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
}

/// Puts the pieces of a text together, without recursion.
private struct JSONTreeBuilder {
    private struct Open {
        let isObject: Bool
        var keys: [String] = []
        var values: [JSONValue] = []
    }

    private var open: [Open] = []
    private var root = JSONValue.null

    static func tree(of document: JSONDocument) -> JSONValue {
        var builder = JSONTreeBuilder()
        document.forEachPiece { builder.add($0) }
        return builder.root
    }

    private mutating func add(_ piece: JSONPiece) {
        switch piece {
        case .beginObject: open.append(Open(isObject: true))
        case .beginArray: open.append(Open(isObject: false))
        case .end:
            guard let ended = open.popLast() else { return }
            let container =
                ended.isObject
                ? JSONContainer(keys: ended.keys, values: ended.values) : JSONContainer(values: ended.values)
            put(JSONValue(storage: ended.isObject ? .object(container) : .array(container)))
        case .key(let key): open[open.count - 1].keys.append(key)
        case .string(let text): put(JSONValue(storage: .string(text)))
        case .number(let digits): put(JSONValue(storage: .number(digits)))
        case .bool(let value): put(JSONValue(storage: .bool(value)))
        case .null: put(.null)
        }
    }

    private mutating func put(_ value: JSONValue) {
        if open.isEmpty { root = value } else { open[open.count - 1].values.append(value) }
    }
}

// MARK: - Writing

extension JSONValue: CustomStringConvertible {
    /// The value as compact JSON in UTF-8: members in their order, numbers with the digits they have.
    ///
    /// A binary value is written as a string, its base64.
    public var json: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// The value as compact JSON.
    public var description: String { String(decoding: json, as: UTF8.self) }

    package func write(to writer: inout JSONWriter) {
        /// The arrays and objects that are not closed yet, with the place of the next value in each.
        var open: [(container: JSONContainer, isObject: Bool, next: Int)] = []
        var value = self
        while true {
            switch value.storage {
            case .null: writer.null()
            case .bool(let value): writer.bool(value)
            case .number(let digits): digits.withBytes { writer.raw($0) }
            case .string(let text): text.withBytes { writer.string(utf8: $0) }
            case .binary(let bytes): writer.string(ByteString(Base64.encode(bytes)))
            case .array(let container):
                writer.beginArray()
                open.append((container, false, 0))
            case .object(let container):
                writer.beginObject()
                open.append((container, true, 0))
            }
            while let last = open.last, last.next == last.container.values.count {
                open.removeLast()
                if last.isObject { writer.endObject() } else { writer.endArray() }
            }
            guard let last = open.last else { return }
            open[open.count - 1].next += 1
            if last.isObject { last.container.keys[last.next].withBytes { writer.key(utf8: $0) } }
            value = last.container.values[last.next]
        }
    }
}
