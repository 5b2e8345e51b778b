/// The protocol's text form: a frame is one or more JSON objects, one a line.
///
/// Payloads stand in it as the JSON they are. Theirs and all other text's UTF-8 is not checked, as real servers do not.
package enum JSONCodec {
    /// Hands over the commands of a whole frame in their order.
    ///
    /// Those before a mistake have been handed over when it throws. What stands behind a command on its line is
    /// ignored, as real servers do.
    package static func decodeCommands(
        _ frame: UnsafeRawBufferPointer,
        _ body: (Command) -> Void
    ) throws(WireError) {
        try decodeLines(frame) { (reader) throws(WireError) in body(try Command(json: &reader)) }
    }

    /// Hands over the replies of a whole frame in their order.
    ///
    /// Those before a mistake have been handed over when it throws; the connection has to end then.
    package static func decodeReplies(
        _ frame: UnsafeRawBufferPointer,
        _ body: (Reply) -> Void
    ) throws(WireError) {
        try decodeLines(frame) { (reader) throws(WireError) in body(try Reply(json: &reader)) }
    }

    /// Appends the command without a line feed behind it; nothing if a payload in it is not JSON.
    package static func encode(_ command: Command, into bytes: inout [UInt8]) {
        _ = JSONMessageWriter.append(to: &bytes) { $0.object { command.write(to: &$0) } }
    }

    /// Appends the reply without a line feed behind it.
    ///
    /// Returns false and appends nothing if a payload in it is not JSON.
    package static func encode(_ reply: Reply, into bytes: inout [UInt8]) -> Bool {
        JSONMessageWriter.append(to: &bytes) { $0.object { reply.write(to: &$0) } }
    }

    /// One line feed behind the last line is no line of its own.
    private static func decodeLines(
        _ frame: UnsafeRawBufferPointer,
        _ body: (inout JSONMessageReader) throws(WireError) -> Void
    ) throws(WireError) {
        guard !frame.isEmpty else { throw WireError(.emptyFrame, at: 0) }
        var start = 0
        repeat {
            let end = frame[start...].firstIndex(of: 0x0a) ?? frame.count
            guard end > start, var reader = JSONMessageReader(frame, line: start..<end) else {
                throw WireError(.emptyLine, at: start)
            }
            try body(&reader)
            start = end + 1
        } while start < frame.count
    }
}
