internal import RoomsRuntime

/// Walks over the fields of one message, or over the messages of a frame.
///
/// Hands out slices of the frame, which live as long as the frame's buffer does. Every length is checked against what
/// is left before it is used; nothing at or behind the end is read.
struct ProtobufReader {
    /// The number of the field that `next` came to.
    private(set) var field: UInt32 = 0
    private var wireType: UInt8 = 0
    private var cursor: UnsafePointer<UInt8>
    private let end: UnsafePointer<UInt8>
    /// Start of the frame, for the offsets in errors.
    private let origin: UnsafePointer<UInt8>
    /// How many more elements the frame may have.
    private let allowance: UnsafeMutablePointer<Int>

    private enum WireType {
        static let varint: UInt8 = 0
        static let eightBytes: UInt8 = 1
        static let length: UInt8 = 2
        static let groupStart: UInt8 = 3
        static let groupEnd: UInt8 = 4
        static let fourBytes: UInt8 = 5
    }

    /// Deeper groups than any schema has ever used.
    private static let groupDepth = 64
    /// In bytes, of texts and of epochs.
    private static let mostProse = 256

    /// Nil for an empty frame; `allowance` is what all of it may hold, and lives as long as the reader.
    init?(frame: UnsafeRawBufferPointer, allowance: UnsafeMutablePointer<Int>) {
        guard let start = frame.baseAddress, frame.count > 0 else { return nil }
        origin = start.assumingMemoryBound(to: UInt8.self)
        cursor = origin
        end = origin + frame.count
        self.allowance = allowance
    }

    private init(from start: UnsafePointer<UInt8>, to end: UnsafePointer<UInt8>, in frame: borrowing ProtobufReader) {
        cursor = start
        self.end = end
        origin = frame.origin
        allowance = frame.allowance
    }

    var isAtEnd: Bool { cursor == end }

    /// The next length-prefixed message of a frame.
    @inline(__always)
    mutating func delimited() throws(WireError) -> ProtobufReader {
        let length = try varint()
        guard length <= UInt64(end - cursor) else { throw failure(.lengthBeyondEnd) }
        let start = cursor
        cursor += Int(length)
        return ProtobufReader(from: start, to: cursor, in: self)
    }

    /// One more message, event, tag or member, of which two bytes may make a hundred.
    @inline(__always)
    func countElement() throws(WireError) {
        allowance.pointee &-= 1
        guard allowance.pointee >= 0 else { throw failure(.tooMany) }
    }

    /// Goes to the next field; false at the end of the message.
    @inline(__always)
    mutating func next() throws(WireError) -> Bool {
        guard cursor != end else { return false }
        let key = try varint()
        field = UInt32(truncatingIfNeeded: key >> 3)
        wireType = UInt8(truncatingIfNeeded: key & 7)
        guard key <= UInt64(UInt32.max), field != 0 else { throw failure(.badField) }
        return true
    }

    @inline(__always)
    mutating func uint64() throws(WireError) -> UInt64 {
        guard wireType == WireType.varint else { throw failure(.wrongWireType) }
        return try varint()
    }

    /// Higher bits than fit are dropped, as every protobuf decoder does.
    @inline(__always)
    mutating func uint32() throws(WireError) -> UInt32 { UInt32(truncatingIfNeeded: try uint64()) }

    @inline(__always)
    mutating func int32() throws(WireError) -> Int32 { Int32(truncatingIfNeeded: try uint64()) }

    @inline(__always)
    mutating func int64() throws(WireError) -> Int64 { Int64(bitPattern: try uint64()) }

    @inline(__always)
    mutating func bool() throws(WireError) -> Bool { try uint64() != 0 }

    /// A slice of the frame.
    @inline(__always)
    mutating func slice() throws(WireError) -> UnsafeRawBufferPointer {
        guard wireType == WireType.length else { throw failure(.wrongWireType) }
        let inner = try delimited()
        return UnsafeRawBufferPointer(start: inner.cursor, count: inner.end - inner.cursor)
    }

    /// What is left of the message.
    var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: cursor, count: end - cursor) }

    /// What the next field holds, if it is this one (at most 15), has a length below 16 KiB, and all of it is here; nil, and
    /// nothing is read, otherwise.
    @inline(__always)
    mutating func entry(field: UInt8) -> ProtobufReader? {
        guard end - cursor >= 3, cursor[0] == field << 3 | WireType.length else { return nil }
        var start = cursor + 2
        var length = Int(cursor[1])
        if length >= 0x80 {
            guard cursor[2] < 0x80 else { return nil }
            length = length & 0x7f | Int(cursor[2]) << 7
            start += 1
        }
        guard length <= end - start else { return nil }
        cursor = start + length
        return ProtobufReader(from: start, to: cursor, in: self)
    }

    mutating func bytes() throws(WireError) -> [UInt8] {
        let slice = try slice()
        return slice.isEmpty ? [] : [UInt8](slice)
    }

    mutating func text() throws(WireError) -> ByteString {
        let slice = try slice()
        return slice.isEmpty ? .empty : ByteString(copying: slice)
    }

    /// A name that is kept; those of real servers have less than ten bytes.
    mutating func epoch() throws(WireError) -> ByteString {
        let slice = try slice()
        guard slice.count <= Self.mostProse else { throw failure(.tooLong) }
        return slice.isEmpty ? .empty : ByteString(copying: slice)
    }

    /// A text for people, of which at most 256 bytes are taken.
    mutating func prose() throws(WireError) -> ByteString {
        let slice = try slice()
        guard slice.count > Self.mostProse else { return slice.isEmpty ? .empty : ByteString(copying: slice) }
        // Three bytes are the ellipsis; what is cut is a whole character.
        var length = Self.mostProse - 3
        while length > Self.mostProse - 6, slice[length] & 0xc0 == 0x80 { length -= 1 }
        return ByteString([UInt8](slice[..<length]) + Array("…".utf8))
    }

    mutating func payload() throws(WireError) -> Payload {
        let slice = try slice()
        return slice.isEmpty ? .empty : Payload(copying: slice)
    }

    @inline(__always)
    mutating func nested() throws(WireError) -> ProtobufReader {
        guard wireType == WireType.length else { throw failure(.wrongWireType) }
        return try delimited()
    }

    @inline(__always)
    mutating func message<Message: ProtobufMessage>(_ type: Message.Type = Message.self) throws(WireError) -> Message {
        var inner = try nested()
        return try Message(protobuf: &inner)
    }

    /// Goes over a field that is not known.
    @inline(never)
    mutating func skip() throws(WireError) {
        switch wireType {
        case WireType.varint: _ = try varint()
        case WireType.eightBytes: try advance(8)
        case WireType.length: _ = try delimited()
        case WireType.groupStart: try skipGroup()
        case WireType.groupEnd: throw failure(.badGroup)
        case WireType.fourBytes: try advance(4)
        default: throw failure(.badField)
        }
    }

    private mutating func skipGroup() throws(WireError) {
        var open = [field]
        while let last = open.last {
            guard try next() else { throw failure(.badGroup) }
            if wireType == WireType.groupStart {
                guard open.count < Self.groupDepth else { throw failure(.badGroup) }
                open.append(field)
            } else if wireType == WireType.groupEnd {
                guard field == last else { throw failure(.badGroup) }
                open.removeLast()
            } else {
                try skip()
            }
        }
    }

    private mutating func advance(_ count: Int) throws(WireError) {
        guard end - cursor >= count else { throw failure(.cutOff) }
        cursor += count
    }

    @inline(__always)
    private mutating func varint() throws(WireError) -> UInt64 {
        guard cursor != end else { throw failure(.cutOff) }
        let first = cursor.pointee
        if first < 0x80 {
            cursor += 1
            return UInt64(first)
        }
        guard end - cursor >= 2, cursor[1] < 0x80 else { return try longVarint() }
        let second = cursor[1]
        cursor += 2
        return UInt64(first & 0x7f) | UInt64(second) << 7
    }

    @inline(never)
    private mutating func longVarint() throws(WireError) -> UInt64 {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while cursor != end {
            let byte = cursor.pointee
            guard shift < 63 || byte <= 1 else { throw failure(.varintTooLong) }
            cursor += 1
            value |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        throw failure(.cutOff)
    }

    @inline(never)
    private func failure(_ code: WireError.Code) -> WireError { WireError(code, at: cursor - origin) }
}

/// A message that can be read from its fields and written as them.
protocol ProtobufMessage {
    init(protobuf reader: inout ProtobufReader) throws(WireError)
    func write(to writer: inout ProtobufWriter)
}
