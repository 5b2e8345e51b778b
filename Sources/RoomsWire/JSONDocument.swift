/// A JSON text read once, with the place of every value and key in it.
///
/// For what people and programs write for us: configuration, requests to the hub, answers of an auth route. Payloads
/// go through `JSONScanner` and `EventEnvelope`, which build nothing.
package struct JSONDocument: Sendable {
    /// Enough for anything written by hand; the hub, which takes payloads inside its requests, allows more.
    package static let usualDepth = 64

    package let root: JSONNode

    /// The text `bytes` as a tree, or the first mistake in it.
    ///
    /// Accepts RFC 8259 exactly; without `checksUTF8` also strings of any bytes, as real servers do, whose text is not
    /// looked at. Nothing here recurses, however deep the text is.
    package static func parse(
        _ bytes: [UInt8],
        maximumDepth: Int = usualDepth,
        checksUTF8: Bool = true
    ) throws(JSONError) -> JSONDocument {
        var parser = JSONParser(bytes, maximumDepth: maximumDepth, checksUTF8: checksUTF8)
        let entries = try parser.parse()
        return JSONDocument(root: JSONNode(tape: JSONTape(bytes: bytes, entries: entries), index: 0))
    }

    /// Members whose key stood before in the same object, in the order of the text, at any depth.
    package var duplicates: [JSONMember] {
        let tape = root.tape
        var found: [JSONMember] = []
        for index in tape.entries.indices where tape.entries[index].kind == .object {
            found += JSONNode(tape: tape, index: index).duplicates
        }
        return found.sorted { $0.keyRange.lowerBound < $1.keyRange.lowerBound }
    }
}

/// The bytes of a document and, in the order of the text, one entry for each value and key.
final class JSONTape: Sendable {
    let bytes: [UInt8]
    let entries: [JSONEntry]

    init(bytes: [UInt8], entries: [JSONEntry]) {
        self.bytes = bytes
        self.entries = entries
    }
}

struct JSONEntry: Sendable {
    enum Kind: UInt8 {
        case object, array, key, string, number, yes, no, null
    }

    let kind: Kind
    /// Of a string: an escape stands in it.
    var isEscaped = false
    let start: UInt32
    var end: UInt32
    let line: UInt32
    let column: UInt32
    /// Index of the first entry behind this value and all inside it.
    var next: UInt32 = 0
}
