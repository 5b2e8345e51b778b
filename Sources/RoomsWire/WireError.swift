/// Why a frame is not what the protocol says: nothing in it can be trusted from there on.
package struct WireError: Error, Equatable, Sendable {
    package enum Code: Equatable, Sendable {
        /// A frame without any message.
        case emptyFrame
        /// The bytes end inside a value.
        case cutOff
        /// A length that goes beyond the message or frame it stands in.
        case lengthBeyondEnd
        /// A varint of more than ten bytes or more than 64 bits.
        case varintTooLong
        /// A known field that is written in another way than the schema says.
        case wrongWireType
        /// A field number or wire type that does not exist.
        case badField
        /// A group that ends where none is open, as another than it began, not at all, or is nested too deeply.
        case badGroup
        /// More messages, events, tags and members than one frame may have.
        case tooMany
        /// An epoch that is longer than one can be.
        case tooLong
        /// A line without a JSON text, between lines that have one or before them.
        case emptyLine
        /// A line that does not begin with a JSON text.
        case notJSON
        /// A known field with a value that it cannot have.
        case wrongType
    }

    package let code: Code
    /// Where in the frame.
    package let offset: Int

    package init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }
}

extension WireError: CustomStringConvertible {
    package var description: String {
        let what =
            switch code {
            case .emptyFrame: "a frame without a message"
            case .cutOff: "a value that is cut off"
            case .lengthBeyondEnd: "a length beyond the end of what it stands in"
            case .varintTooLong: "a number of more than 64 bits"
            case .wrongWireType: "a known field with another wire type than the schema's"
            case .badField: "a field number or wire type that does not exist"
            case .badGroup: "a group that does not end as it began"
            case .tooMany: "more parts than one frame may have"
            case .tooLong: "an epoch of more than 256 bytes"
            case .emptyLine: "an empty line"
            case .notJSON: "a line that is not JSON"
            case .wrongType: "a known field with a value that it cannot have"
            }
        let right =
            switch code {
            case .emptyLine, .notJSON, .wrongType: "lines with a JSON object each"
            default: "a protobuf frame of length-prefixed messages"
            }
        return "\(what) at byte \(offset) of the frame; \(right) would be right"
    }
}
