internal import BridgeModel
internal import RoomsRuntime

/// The bytes of a row beside its payload: everything that is known about an event, or a whole gap.
///
/// One byte of flags, then numbers as varints (signed ones zigzag), then byte strings with their length in front:
/// - event: offset, incarnation, at, the lower bound and length of the data unless it is binary, epoch, name, the
///   publisher if there is one, tags if there are any;
/// - gap: reason, from, `to` if it is known, incarnation, at, epoch;
/// - notice: kind, at; its text is the payload.
enum RowHead {
    private static let kindMask: UInt8 = 3
    private static let json: UInt8 = 0
    private static let sealed: UInt8 = 1
    private static let binary: UInt8 = 2
    private static let gap: UInt8 = 3
    private static let isReplayed: UInt8 = 4
    private static let hasFrom: UInt8 = 8
    private static let hasTags: UInt8 = 16
    private static let hasEnd: UInt8 = 32
    private static let notice: UInt8 = 64

    static func encode(_ event: EventRecord, into head: inout [UInt8]) {
        head.removeAll(keepingCapacity: true)
        var flags: UInt8
        var data: Range<Int>?
        switch event.shape {
        case .json(let range): (flags, data) = (json, range)
        case .sealed(let range): (flags, data) = (sealed, range)
        case .binary: flags = binary
        }
        if event.isReplayed { flags |= isReplayed }
        if event.from != nil { flags |= hasFrom }
        if event.tags != nil { flags |= hasTags }
        head.append(flags)
        append(event.offset, to: &head)
        append(UInt64(event.incarnation), to: &head)
        append(zigzag(event.at), to: &head)
        if let data {
            append(UInt64(data.lowerBound), to: &head)
            append(UInt64(data.count), to: &head)
        }
        append(event.epoch.bytes, to: &head)
        append(event.name.bytes, to: &head)
        if let from = event.from { append(from.bytes, to: &head) }
        if let tags = event.tags { append(tags, to: &head) }
    }

    static func encode(_ gap: Gap, at: Int64, into head: inout [UInt8]) {
        head.removeAll(keepingCapacity: true)
        head.append(self.gap | (gap.to == nil ? 0 : hasEnd))
        head.append(number(of: gap.reason))
        append(gap.from, to: &head)
        if let to = gap.to { append(to, to: &head) }
        append(UInt64(gap.incarnation), to: &head)
        append(zigzag(at), to: &head)
        append(gap.epoch.bytes, to: &head)
    }

    static func encode(_ notice: RoomNotice, into head: inout [UInt8]) {
        head.removeAll(keepingCapacity: true)
        head.append(self.notice)
        head.append(number(of: notice.kind))
        append(zigzag(notice.at), to: &head)
    }

    /// Nil when this is not what `encode` wrote; `payload` is not called for a gap.
    ///
    /// An epoch that equals `epoch` shares its memory.
    static func decode(
        _ bytes: UnsafeRawBufferPointer,
        epoch: ByteString?,
        payload: () -> Payload
    ) -> RecordBody? {
        var reader = Reader(bytes: bytes)
        guard let flags = reader.byte() else { return nil }
        if flags == notice {
            guard let kind = reader.byte().flatMap(kind), let at = reader.number() else { return nil }
            return .notice(RoomNotice(kind: kind, text: payload(), at: unzigzag(at)))
        }
        if flags & kindMask == gap {
            guard let code = reader.byte(), let reason = reason(of: code), let from = reader.number() else {
                return nil
            }
            var to: UInt64?
            if flags & hasEnd != 0 {
                guard let end = reader.number() else { return nil }
                to = end
            }
            guard let incarnation = reader.number(), let at = reader.number(), let name = reader.string() else {
                return nil
            }
            let gap = Gap(
                reason: reason,
                epoch: shared(name, epoch),
                from: from,
                to: to,
                incarnation: UInt32(truncatingIfNeeded: incarnation)
            )
            return .gap(gap, at: unzigzag(at))
        }
        guard let offset = reader.number(), let incarnation = reader.number(), let at = reader.number() else {
            return nil
        }
        var data = 0..<0
        if flags & kindMask != binary {
            guard let lower = reader.number(), let count = reader.number(), lower < 1 << 40, count < 1 << 40 else {
                return nil
            }
            data = Int(lower)..<Int(lower + count)
        }
        guard let stream = reader.string(), let name = reader.string() else { return nil }
        var from: ByteString?
        var tags: [UInt8]?
        if flags & hasFrom != 0 {
            guard let user = reader.string() else { return nil }
            from = ByteString(copying: user)
        }
        if flags & hasTags != 0 {
            guard let object = reader.string() else { return nil }
            tags = [UInt8](object)
        }
        let content = payload()
        let shape: PayloadShape
        switch flags & kindMask {
        case json: shape = .json(data)
        case sealed: shape = .sealed(data)
        default: shape = .binary
        }
        guard data.upperBound <= content.count else { return nil }
        return .event(
            EventRecord(
                payload: content,
                epoch: shared(stream, epoch),
                offset: offset,
                incarnation: UInt32(truncatingIfNeeded: incarnation),
                shape: shape,
                name: ByteString(copying: name),
                from: from,
                at: unzigzag(at),
                isReplayed: flags & isReplayed != 0,
                tags: tags
            )
        )
    }

    static func isNotice(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.first == notice }

    /// The place of an event (its offset twice) or of a gap; a notice has none.
    static func range(
        _ bytes: UnsafeRawBufferPointer
    ) -> (epoch: ByteString, incarnation: UInt32, from: UInt64, to: UInt64?)? {
        guard let flags = bytes.first, flags != notice else { return nil }
        if flags & kindMask == gap {
            guard case .gap(let gap, _) = decode(bytes, epoch: nil, payload: { .empty }) else { return nil }
            return (gap.epoch, gap.incarnation, gap.from, gap.to)
        }
        var reader = Reader(bytes: bytes)
        _ = reader.byte()
        guard let offset = reader.number(), let incarnation = reader.number(), reader.number() != nil else {
            return nil
        }
        if flags & kindMask != binary {
            guard reader.number() != nil, reader.number() != nil else { return nil }
        }
        guard let epoch = reader.string() else { return nil }
        return (ByteString(copying: epoch), UInt32(truncatingIfNeeded: incarnation), offset, offset)
    }

    private static func shared(_ bytes: UnsafeRawBufferPointer, _ known: ByteString?) -> ByteString {
        if let known, known.equals(bytes) { return known }
        return ByteString(copying: bytes)
    }

    // MARK: numbers

    private static func number(of reason: GapReason) -> UInt8 {
        switch reason {
        case .trimmed: 1
        case .epochChanged: 2
        case .wentBack: 3
        case .notPermitted: 4
        case .tooLarge: 5
        case .invalidated: 6
        case .filtered: 7
        case .retention: 8
        case .damaged: 9
        }
    }

    private static func reason(of number: UInt8) -> GapReason? {
        GapReason.allCases.first { self.number(of: $0) == number }
    }

    private static func number(of kind: RoomNotice.Kind) -> UInt8 {
        switch kind {
        case .member: 1
        case .count: 2
        case .state: 3
        }
    }

    private static func kind(of number: UInt8) -> RoomNotice.Kind? {
        RoomNotice.Kind.allCases.first { self.number(of: $0) == number }
    }

    private static func zigzag(_ value: Int64) -> UInt64 { UInt64(bitPattern: value << 1 ^ value >> 63) }

    private static func unzigzag(_ value: UInt64) -> Int64 { Int64(bitPattern: value >> 1) ^ -Int64(value & 1) }

    private static func append(_ value: UInt64, to head: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            head.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        head.append(UInt8(rest))
    }

    private static func append(_ bytes: [UInt8], to head: inout [UInt8]) {
        append(UInt64(bytes.count), to: &head)
        head.append(contentsOf: bytes)
    }

    private struct Reader {
        let bytes: UnsafeRawBufferPointer
        var position = 0

        mutating func byte() -> UInt8? {
            guard position < bytes.count else { return nil }
            defer { position += 1 }
            return bytes[position]
        }

        mutating func number() -> UInt64? {
            var value: UInt64 = 0
            var shift: UInt64 = 0
            while shift < 64, let next = byte() {
                value |= UInt64(next & 0x7f) << shift
                if next < 0x80 { return value }
                shift += 7
            }
            return nil
        }

        mutating func string() -> UnsafeRawBufferPointer? {
            guard let count = number(), count <= UInt64(bytes.count - position) else { return nil }
            defer { position += Int(count) }
            return UnsafeRawBufferPointer(rebasing: bytes[position..<position + Int(count)])
        }
    }
}
