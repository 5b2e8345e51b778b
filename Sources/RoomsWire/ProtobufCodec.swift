/// The protocol's binary form: a frame is one or more messages, each behind its length as a varint.
package enum ProtobufCodec {
    /// What one message of a server is.
    package enum Incoming {
        /// A push of a publication and nothing else, which nearly everything is; `channel` is a slice of the frame.
        case publication(Publication, channel: UnsafeRawBufferPointer)
        case reply(Reply)
    }

    /// Messages, events, tags and members in one frame: each takes a hundred times the two bytes that it may come in.
    private static let mostElements = 65_536

    /// Hands over the replies of a whole frame in their order.
    ///
    /// Those before a mistake have been handed over when it throws; the connection has to end then.
    package static func decodeReplies(
        _ frame: UnsafeRawBufferPointer,
        _ body: (Reply) -> Void
    ) throws(WireError) {
        try forEachReply(frame) { message throws(WireError) in body(try Reply(protobuf: &message)) }
    }

    /// The same, with a short way for publications.
    package static func decodeIncoming(
        _ frame: UnsafeRawBufferPointer,
        _ body: (consuming Incoming) -> Void
    ) throws(WireError) {
        try forEachReply(frame) { message throws(WireError) in
            if var plain = message.plainPublication() {
                let publication = try Publication(protobuf: &plain.publication)
                body(.publication(publication, channel: plain.channel))
            } else {
                body(.reply(try Reply(protobuf: &message)))
            }
        }
    }

    @inline(__always)
    private static func forEachReply(
        _ frame: UnsafeRawBufferPointer,
        _ read: (inout ProtobufReader) throws(WireError) -> Void
    ) throws(WireError) {
        var allowance = mostElements
        try withUnsafeMutablePointer(to: &allowance) { allowance throws(WireError) in
            guard var reader = ProtobufReader(frame: frame, allowance: allowance) else {
                throw WireError(.emptyFrame, at: 0)
            }
            repeat {
                var message = try reader.delimited()
                try reader.countElement()
                try read(&message)
            } while !reader.isAtEnd
        }
    }

    /// Hands over the commands of a whole frame in their order.
    ///
    /// Bytes behind the last whole command that are not a command themselves are ignored, as real servers do.
    package static func decodeCommands(
        _ frame: UnsafeRawBufferPointer,
        _ body: (Command) -> Void
    ) throws(WireError) {
        var allowance = mostElements
        try withUnsafeMutablePointer(to: &allowance) { allowance throws(WireError) in
            guard var reader = ProtobufReader(frame: frame, allowance: allowance) else {
                throw WireError(.emptyFrame, at: 0)
            }
            var isFirst = true
            repeat {
                var message: ProtobufReader
                do throws(WireError) {
                    message = try reader.delimited()
                } catch {
                    if isFirst { throw error }
                    return
                }
                body(try Command(protobuf: &message))
                isFirst = false
            } while !reader.isAtEnd
        }
    }

    /// Appends the length and the message.
    package static func encode(_ command: Command, into bytes: inout [UInt8]) {
        ProtobufWriter.append(to: &bytes) { writer in writer.delimited { command.write(to: &$0) } }
    }

    /// Appends the length and the message.
    package static func encode(_ reply: Reply, into bytes: inout [UInt8]) {
        ProtobufWriter.append(to: &bytes) { writer in writer.delimited { reply.write(to: &$0) } }
    }
}
