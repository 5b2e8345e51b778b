package import RoomsRuntime

/// What a publication is as an event: its name, where its data stands in the payload, and when it happened.
///
/// - A tag `event` names it, and its data is the whole payload.
/// - Else a payload that is an object with a string `event`, exactly one of `data` and `sealed`, and otherwise only
///   `at`, each once, is an envelope around the data.
/// - Else its name is `message`, and its data is the whole payload.
package struct EventEnvelope: Equatable, Sendable {
    package enum Content: Equatable, Sendable {
        /// These bytes of the payload are the event's data, a JSON value.
        case json(Range<Int>)
        /// These bytes of the payload are the sealed value, a JSON value.
        case sealed(Range<Int>)
        /// The payload is not JSON; its data are all of its bytes.
        case binary
    }

    package var name: ByteString
    package var content: Content
    /// Milliseconds since 1970, as the publisher says; nil where it says nothing that could be a time.
    package var at: Int64?

    package init(name: ByteString, content: Content, at: Int64?) {
        self.name = name
        self.content = content
        self.at = at
    }

    /// The name of events that have none.
    package static let plainName: ByteString = "message"

    /// The last millisecond of the year 9999: later ones cannot be written as RFC 3339 has it.
    private static let times: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Reads the payload once: whether it is JSON, and whether it is an envelope.
    package static func read(
        payload: UnsafeRawBufferPointer,
        tagEvent: ByteString?,
        tagAt: ByteString?
    ) -> EventEnvelope {
        let taggedAt = tagAt.flatMap { time($0.bytes) }
        if let tagEvent {
            return EventEnvelope(name: tagEvent, content: whole(payload), at: taggedAt)
        }
        guard let base = payload.baseAddress else {
            return EventEnvelope(name: plainName, content: .binary, at: taggedAt)
        }
        let text = base.assumingMemoryBound(to: UInt8.self)
        let end = payload.count
        let start = JSONScanner.skipWhiteSpace(text, 0, end)
        guard start < end, text[start] == UInt8(ascii: "{") else {
            return EventEnvelope(name: plainName, content: whole(payload), at: taggedAt)
        }
        var members = EnvelopeMembers()
        let behind = members.read(text, from: start + 1, to: end)
        guard behind >= 0, JSONScanner.skipWhiteSpace(text, behind, end) == end else {
            return EventEnvelope(name: plainName, content: .binary, at: taggedAt)
        }
        guard let name = members.event, let content = members.content else {
            return EventEnvelope(name: plainName, content: .json(0..<end), at: taggedAt)
        }
        let bytes = UnsafeBufferPointer(start: text, count: end)
        return EventEnvelope(
            name: plain(UnsafeBufferPointer(rebasing: bytes[name])),
            content: content,
            at: taggedAt ?? members.at.flatMap { time(bytes[$0]) }
        )
    }

    private static func plain(_ name: UnsafeBufferPointer<UInt8>) -> ByteString {
        ByteString(name.contains(UInt8(ascii: "\\")) ? JSONText.unescape(name) : Array(name))
    }

    private static func whole(_ payload: UnsafeRawBufferPointer) -> Content {
        JSONScanner.isValid(payload) ? .json(0..<payload.count) : .binary
    }

    private static func time(_ digits: some Sequence<UInt8>) -> Int64? {
        guard let time: Int64 = JSONNumber.integer(digits), times.contains(time) else { return nil }
        return time
    }
}

/// The members of an object that may be an envelope, as byte ranges of the payload.
private struct EnvelopeMembers {
    /// Without its quotes.
    private(set) var event: Range<Int>?
    private var data: Range<Int>?
    private var sealed: Range<Int>?
    private(set) var at: Range<Int>?
    private var isEnvelope = true

    private enum Key {
        case event, data, sealed, at
    }

    /// Nil unless it was an envelope.
    var content: EventEnvelope.Content? {
        guard isEnvelope, event != nil else { return nil }
        switch (data, sealed) {
        case (let data?, nil): return .json(data)
        case (nil, let sealed?): return .sealed(sealed)
        default: return nil
        }
    }

    /// Reads from behind the first bracket to behind the last; -1 if the object is not valid.
    ///
    /// Stops looking at members at the first one that no envelope has.
    mutating func read(_ text: UnsafePointer<UInt8>, from start: Int, to end: Int) -> Int {
        var index = JSONScanner.skipWhiteSpace(text, start, end)
        guard index < end else { return -1 }
        if text[index] == UInt8(ascii: "}") { return index + 1 }
        while true {
            guard index < end, text[index] == UInt8(ascii: "\"") else { return -1 }
            let keyStart = index + 1
            let keyEnd = JSONScanner.skipString(text, keyStart, end)
            guard keyEnd >= 0 else { return -1 }
            let value = JSONScanner.skipColon(text, keyEnd, end)
            guard value >= 0, value < end else { return -1 }
            let name = UnsafeBufferPointer(start: text + keyStart, count: keyEnd - 1 - keyStart)
            guard let key = Self.key(name), isFree(key), key != .event || text[value] == UInt8(ascii: "\"") else {
                isEnvelope = false
                return JSONScanner.skipRestOfObject(text, value, end)
            }
            let behind = JSONScanner.skipValue(text, value, end, depth: 1)
            guard behind >= 0 else { return -1 }
            set(key, value..<behind)
            index = JSONScanner.skipWhiteSpace(text, behind, end)
            guard index < end else { return -1 }
            if text[index] == UInt8(ascii: "}") { return index + 1 }
            guard text[index] == UInt8(ascii: ",") else { return -1 }
            index = JSONScanner.skipWhiteSpace(text, index + 1, end)
        }
    }

    private func isFree(_ key: Key) -> Bool {
        switch key {
        case .event: event == nil
        case .data, .sealed: data == nil && sealed == nil
        case .at: at == nil
        }
    }

    private mutating func set(_ key: Key, _ range: Range<Int>) {
        switch key {
        case .event: event = range.lowerBound + 1..<range.upperBound - 1
        case .data: data = range
        case .sealed: sealed = range
        case .at: at = range
        }
    }

    private static func key(_ name: UnsafeBufferPointer<UInt8>) -> Key? {
        switch name.count {
        case 5 where equal(name, "event"): .event
        case 4 where equal(name, "data"): .data
        case 6 where equal(name, "sealed"): .sealed
        case 2 where equal(name, "at"): .at
        default: name.contains(UInt8(ascii: "\\")) ? escapedKey(name) : nil
        }
    }

    /// The same name may be spelled with escapes; other parsers take it for the same.
    @inline(never)
    private static func escapedKey(_ name: UnsafeBufferPointer<UInt8>) -> Key? {
        let plain = JSONText.unescape(name)
        guard !plain.contains(UInt8(ascii: "\\")) else { return nil }
        return plain.withUnsafeBufferPointer { key($0) }
    }

    @inline(__always)
    private static func equal(_ name: UnsafeBufferPointer<UInt8>, _ word: StaticString) -> Bool {
        for index in 0..<name.count where name[index] != word.utf8Start[index] { return false }
        return true
    }
}
