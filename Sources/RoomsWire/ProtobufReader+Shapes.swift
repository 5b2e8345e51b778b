internal import RoomsRuntime

/// Shapes that many messages of the schema share.
extension ProtobufReader {
    /// What is in a reply that is a push of a publication and nothing else, in the order in which servers write it.
    ///
    /// Nil for every other message, also for one with a mistake in its frame of lengths.
    @inline(__always)
    func plainPublication() -> (channel: UnsafeRawBufferPointer, publication: ProtobufReader)? {
        var reply = self
        guard var push = reply.entry(field: 4), reply.isAtEnd, let channel = push.entry(field: 2)?.rest,
            let publication = push.entry(field: 4), push.isAtEnd
        else { return nil }
        return (channel, publication)
    }

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
        try countElement()
        let (key, value) = try texts()
        return Tag(key: key, value: value)
    }

    mutating func publication() throws(WireError) -> Publication {
        try countElement()
        return try message()
    }

    /// One entry of a map of text to messages.
    mutating func mapEntry<Message: ProtobufMessage>(
        default value: Message
    ) throws(WireError) -> (key: ByteString, value: Message) {
        try countElement()
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
