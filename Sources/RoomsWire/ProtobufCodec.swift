/// The protocol's binary form: a frame is one or more messages, each behind its length as a varint.
package enum ProtobufCodec {
    /// Hands over the replies of a whole frame in their order.
    ///
    /// Those before a mistake have been handed over when it throws; the connection has to end then.
    package static func decodeReplies(
        _ frame: UnsafeRawBufferPointer,
        _ body: (Reply) -> Void
    ) throws(WireError) {
        guard var reader = ProtobufReader(frame: frame) else { throw WireError(.emptyFrame, at: 0) }
        repeat {
            var message = try reader.delimited()
            body(try Reply(protobuf: &message))
        } while !reader.isAtEnd
    }

    /// Hands over the commands of a whole frame in their order.
    ///
    /// Bytes behind the last whole command that are not a command themselves are ignored, as real servers do.
    package static func decodeCommands(
        _ frame: UnsafeRawBufferPointer,
        _ body: (Command) -> Void
    ) throws(WireError) {
        guard var reader = ProtobufReader(frame: frame) else { throw WireError(.emptyFrame, at: 0) }
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

    /// Appends the length and the message.
    package static func encode(_ command: Command, into bytes: inout [UInt8]) {
        ProtobufWriter.append(to: &bytes) { writer in writer.delimited { command.write(to: &$0) } }
    }

    /// Appends the length and the message.
    package static func encode(_ reply: Reply, into bytes: inout [UInt8]) {
        ProtobufWriter.append(to: &bytes) { writer in writer.delimited { reply.write(to: &$0) } }
    }
}
