internal import BridgeModel
internal import RoomsHTTP
internal import RoomsRuntime
internal import RoomsWire

/// Writes a record as a CloudEvent 1.0, in structured mode as JSON and in binary mode as header fields.
///
/// What cannot be the value of an attribute (control characters, no UTF-8, too long) is left out; `source` always has the
/// room's name, as a path.
enum CloudEvent {
    struct Attribute {
        var name: ByteString
        var value: ByteString
        var isFlag = false
    }

    private static let longestValue = 4_096

    /// All of the event, `data` at the end.
    static func append(_ delivery: PendingDelivery, _ context: RecordContext, to text: inout [UInt8]) {
        text.append(literal: "{\"specversion\":\"1.0\"")
        for attribute in attributes(of: delivery, context) {
            text.append(literal: ",\"")
            text.append(contentsOf: attribute.name.bytes)
            text.append(literal: "\":")
            if attribute.isFlag {
                text.append(contentsOf: attribute.value.bytes)
            } else {
                attribute.value.bytes.withUnsafeBytes { JSONWriter.appendString($0, to: &text) }
            }
        }
        switch delivery.body {
        case .event(let event):
            let data = RecordData(event)
            text.append(literal: ",\"datacontenttype\":\"")
            text.append(literal: data.contentType)
            text.append(literal: "\"")
            data.appendMember(event.payload, to: &text)
        case .gap(let gap, _):
            text.append(literal: ",\"datacontenttype\":\"application/json\",\"data\":")
            StandardBody.append(gap, to: &text)
        case .notice(let notice):
            text.append(literal: ",\"datacontenttype\":\"application/json\",\"data\":")
            notice.text.withBytes { text.append(contentsOf: $0) }
        }
        text.append(literal: "}")
    }

    /// In binary mode: attributes into the head, the data into the body.
    static func append(
        _ delivery: PendingDelivery,
        _ context: RecordContext,
        to request: inout RequestHead,
        _ body: inout [UInt8]
    ) {
        switch delivery.body {
        case .event(let event):
            let data = RecordData(event)
            request.add("content-type", literal: data.contentType)
            data.append(event.payload, to: &body)
        case .gap(let gap, _):
            request.add("content-type", literal: "application/json")
            StandardBody.append(gap, to: &body)
        case .notice(let notice):
            request.add("content-type", literal: "application/json")
            notice.text.withBytes { body.append(contentsOf: $0) }
        }
        request.add("ce-specversion", literal: "1.0")
        for attribute in attributes(of: delivery, context) {
            request.add("ce-", attribute.name, percentEncoding: attribute.value)
        }
    }

    // MARK: attributes

    private static func attributes(of delivery: PendingDelivery, _ context: RecordContext) -> [Attribute] {
        var list: [Attribute] = []
        list.reserveCapacity(16)
        let (type, time) = delivery.kind
        list.append(Attribute(name: "id", value: ByteString(context.id)))
        list.append(Attribute(name: "source", value: source(delivery.room)))
        list.append(Attribute(name: "type", value: type))
        addText("subject", delivery.room.room, to: &list)
        var text: [UInt8] = []
        text.append(timestamp: time)
        list.append(Attribute(name: "time", value: ByteString(text)))
        text.removeAll()
        text.append(delivery.seq, digits: 20)
        list.append(Attribute(name: "sequence", value: ByteString(text)))
        addText("partitionkey", delivery.room.room, to: &list)
        switch delivery.body {
        case .event(let event):
            addText("roomevent", event.name, to: &list)
            if event.offset > 0 { addPlace(event.epoch, event.offset, to: &list) }
        case .gap(let gap, _):
            addPlace(gap.epoch, gap.from, to: &list)
        case .notice:
            break
        }
        addNumber("roomprevseq", context.previousSeq, to: &list)
        if context.skipped > 0 { addNumber("roomskipped", context.skipped, to: &list) }
        if case .event(let event) = delivery.body {
            if let from = event.from { addText("roomfrom", from, to: &list) }
            if event.isReplayed { list.append(Attribute(name: "roomreplayed", value: "true", isFlag: true)) }
            if let tags = event.tags { addTags(tags, to: &list) }
        }
        return list
    }

    /// Numbers are texts: an Integer of CloudEvents has 32 bits.
    private static func addPlace(_ epoch: ByteString, _ offset: UInt64, to list: inout [Attribute]) {
        addText("roomepoch", epoch, to: &list)
        var text: [UInt8] = []
        text.append(decimal: offset)
        list.append(Attribute(name: "roomoffset", value: ByteString(text)))
    }

    private static func addNumber(_ name: ByteString, _ number: Int64, to list: inout [Attribute]) {
        var text: [UInt8] = []
        text.append(decimal: number)
        list.append(Attribute(name: name, value: ByteString(text)))
    }

    private static func addText(_ name: ByteString, _ value: ByteString, to list: inout [Attribute]) {
        guard isValue(value) else { return }
        list.append(Attribute(name: name, value: value))
    }

    /// Those whose names can be part of an attribute's.
    private static func addTags(_ tags: [UInt8], to list: inout [Attribute]) {
        guard let members = try? JSONDocument.parse(tags).root.members else { return }
        for member in members {
            let name = member.key
            guard (1...64).contains(name.count), name.bytes.allSatisfy(isNameByte), let value = member.value.string
            else {
                continue
            }
            addText(ByteString(Array("roomtag".utf8) + name.bytes), value, to: &list)
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
    }

    /// Whether it is a String of CloudEvents, and not empty.
    private static func isValue(_ value: ByteString) -> Bool {
        guard !value.isEmpty, value.count <= longestValue else { return false }
        // Names are plain ASCII, nearly always.
        if value.bytes.allSatisfy({ 0x20..<0x7f ~= $0 }) { return true }
        guard let text = String(validating: value.bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.value {
            case 0..<0x20, 0x7f..<0xa0, 0xfdd0...0xfdef: false
            default: scalar.value & 0xfffe != 0xfffe
            }
        }
    }

    private static func source(_ room: RoomKey) -> ByteString {
        var path = Array("/roombridge/".utf8)
        append(segment: room.server, to: &path)
        path.append(UInt8(ascii: "/"))
        append(segment: room.room, to: &path)
        return ByteString(path)
    }

    /// Percent-encoded as a segment of a path in a URI.
    private static func append(segment: ByteString, to path: inout [UInt8]) {
        for byte in segment.bytes {
            if isSegmentByte(byte) {
                path.append(byte)
            } else {
                path.append(UInt8(ascii: "%"))
                path.append(hexadecimal[Int(byte >> 4)])
                path.append(hexadecimal[Int(byte & 15)])
            }
        }
    }

    private static let hexadecimal = Array("0123456789ABCDEF".utf8)
    private static let marks = Set("-._~!$&'()*+,;=:@".utf8)

    private static func isSegmentByte(_ byte: UInt8) -> Bool {
        isNameByte(byte) || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || marks.contains(byte)
    }
}

extension PendingDelivery {
    /// Its type, and when it happened in milliseconds since 1970.
    fileprivate var kind: (type: ByteString, time: Int64) {
        switch body {
        case .event(let event): ("room.event", event.at)
        case .gap(_, let at): ("room.gap", at)
        case .notice(let notice): (ByteString("room.\(notice.kind.rawValue)"), notice.at)
        }
    }
}
