internal import RoomsRuntime

/// Appends the fields of messages, in the order of the calls; zero values are left out as proto3 has it.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    /// Runs `body` with a writer that appends to `bytes`, without a copy.
    static func append(to bytes: inout [UInt8], _ body: (inout ProtobufWriter) -> Void) {
        var writer = ProtobufWriter()
        swap(&writer.bytes, &bytes)
        body(&writer)
        swap(&writer.bytes, &bytes)
    }

    mutating func uint64(_ field: UInt8, _ value: UInt64) {
        guard value != 0 else { return }
        key(field, wireType: 0)
        varint(value)
    }

    mutating func uint32(_ field: UInt8, _ value: UInt32) { uint64(field, UInt64(value)) }

    /// A negative number takes ten bytes.
    mutating func int64(_ field: UInt8, _ value: Int64) { uint64(field, UInt64(bitPattern: value)) }

    mutating func int32(_ field: UInt8, _ value: Int32) { int64(field, Int64(value)) }

    mutating func bool(_ field: UInt8, _ value: Bool) { uint64(field, value ? 1 : 0) }

    mutating func text(_ field: UInt8, _ value: ByteString) { bytes(field, value.bytes) }

    mutating func bytes(_ field: UInt8, _ value: [UInt8]) {
        guard !value.isEmpty else { return }
        entry(field, value)
    }

    mutating func payload(_ field: UInt8, _ value: Payload) {
        guard value.count > 0 else { return }
        key(field, wireType: 2)
        varint(UInt64(value.count))
        value.withBytes { bytes.append(contentsOf: $0) }
    }

    /// Written also when it is empty, as keys and values of maps are.
    mutating func entry(_ field: UInt8, _ value: [UInt8]) {
        key(field, wireType: 2)
        varint(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    mutating func message(_ field: UInt8, _ message: some ProtobufMessage) {
        nested(field) { message.write(to: &$0) }
    }

    mutating func nested(_ field: UInt8, _ body: (inout ProtobufWriter) -> Void) {
        key(field, wireType: 2)
        delimited(body)
    }

    /// A length and what `body` writes.
    mutating func delimited(_ body: (inout ProtobufWriter) -> Void) {
        // One byte is enough for most lengths; for the others the message moves up afterwards.
        let prefix = bytes.count
        bytes.append(0)
        body(&self)
        var length = UInt64(bytes.count - prefix - 1)
        var digits: [UInt8] = []
        while length >= 0x80 {
            digits.append(UInt8(truncatingIfNeeded: length) | 0x80)
            length >>= 7
        }
        if digits.isEmpty {
            bytes[prefix] = UInt8(truncatingIfNeeded: length)
        } else {
            digits.append(UInt8(truncatingIfNeeded: length))
            bytes.replaceSubrange(prefix...prefix, with: digits)
        }
    }

    /// All fields of the schema that are written here have numbers below 16, so that a key is one byte.
    private mutating func key(_ field: UInt8, wireType: UInt8) {
        bytes.append(field << 3 | wireType)
    }

    private mutating func varint(_ value: UInt64) {
        var value = value
        while value >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
            value >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: value))
    }
}
