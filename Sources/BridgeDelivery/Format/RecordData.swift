internal import BridgeModel
internal import RoomsRuntime

/// The data of a record with its media type, as CloudEvents has it: apart from everything that is said about it.
struct RecordData {
    enum Kind {
        /// Bytes of the payload that are a JSON value.
        case json(Range<Int>)
        /// Bytes of the payload that are plain text between two quotes.
        case quoted(Range<Int>)
        /// All bytes of the payload.
        case bytes
    }

    let kind: Kind
    let contentType: StaticString

    init(_ event: EventRecord) {
        switch event.shape {
        case .json(let range):
            kind = .json(range)
            contentType = "application/json"
        case .sealed(let range):
            let isCompact = event.payload.withBytes { Self.isCompact($0[range.clamped(to: 0..<$0.count)]) }
            kind = isCompact ? .quoted(range) : .json(range)
            // RFC 7515, section 9.2.1: the one is text, the other JSON.
            contentType = isCompact ? "application/jose" : "application/jose+json"
        case .binary:
            kind = .bytes
            contentType = "application/octet-stream"
        }
    }

    /// Whether it is a string with nothing in it but what a compact JWE is made of.
    private static func isCompact(_ value: Slice<UnsafeRawBufferPointer>) -> Bool {
        let quote = UInt8(ascii: "\"")
        guard value.count >= 2, value.first == quote, value.last == quote else { return false }
        return value.dropFirst().dropLast().allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
            default: false
            }
        }
    }

    /// The member of a structured CloudEvent.
    func appendMember(_ payload: Payload, to text: inout [UInt8]) {
        payload.withBytes { payload in
            switch kind {
            case .json(let range), .quoted(let range):
                text.append(literal: ",\"data\":")
                text.append(contentsOf: payload[range.clamped(to: 0..<payload.count)])
            case .bytes:
                text.append(literal: ",\"data_base64\":\"")
                Base64.append(payload, to: &text)
                text.append(literal: "\"")
            }
        }
    }

    /// The data alone.
    func append(_ payload: Payload, to body: inout [UInt8]) {
        payload.withBytes { payload in
            switch kind {
            case .json(let range):
                body.append(contentsOf: payload[range.clamped(to: 0..<payload.count)])
            case .quoted(let range):
                body.append(contentsOf: payload[range.clamped(to: 0..<payload.count)].dropFirst().dropLast())
            case .bytes:
                body.append(contentsOf: payload)
            }
        }
    }
}
