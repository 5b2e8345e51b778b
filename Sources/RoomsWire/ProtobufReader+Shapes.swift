internal import RoomsRuntime

/// Shapes that many messages of the schema share.
extension ProtobufReader {
    /// A message of at most two texts (or bytes), in the fields 1 and 2.
    mutating func texts() throws(WireError) -> (first: ByteString, second: ByteString) {
        var inner = try nested()
        var first = ByteString.empty
        var second = ByteString.empty
        while try inner.next() {
            switch inner.field {
            case 1: first = try inner.text()
            case 2: second = try inner.text()
            default: try inner.skip()
            }
        }
        return (first, second)
    }

    /// One entry of a map of text to text.
    mutating func tag() throws(WireError) -> Tag {
        let (key, value) = try texts()
        return Tag(key: key, value: value)
    }

    /// One entry of a map of text to messages.
    mutating func mapEntry<Message: ProtobufMessage>(
        default value: Message
    ) throws(WireError) -> (key: ByteString, value: Message) {
        var inner = try nested()
        var key = ByteString.empty
        var value = value
        while try inner.next() {
            switch inner.field {
            case 1: key = try inner.text()
            case 2: value = try inner.message()
            default: try inner.skip()
            }
        }
        return (key, value)
    }
}

extension ProtobufWriter {
    mutating func texts(_ field: UInt8, _ first: ByteString = .empty, _ second: ByteString = .empty) {
        nested(field) { writer in
            writer.text(1, first)
            writer.text(2, second)
        }
    }

    mutating func tag(_ field: UInt8, _ tag: Tag) {
        nested(field) { writer in
            writer.entry(1, tag.key.bytes)
            writer.entry(2, tag.value.bytes)
        }
    }

    mutating func mapEntry(_ field: UInt8, _ key: ByteString, _ value: some ProtobufMessage) {
        nested(field) { writer in
            writer.entry(1, key.bytes)
            writer.message(2, value)
        }
    }
}
