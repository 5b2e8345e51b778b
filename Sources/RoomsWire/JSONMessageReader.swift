internal import RoomsRuntime

/// What is read out of a JSON object, member by member.
protocol JSONReadable {
    /// Takes the value of the member `reader.key`, or skips it.
    mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError)
}

/// A message of the schema in its JSON form: an object whose members are its fields.
protocol JSONMessage: JSONReadable {
    /// Writes the members.
    func write(to writer: inout JSONMessageWriter)
}

/// Goes over one line of a frame, value by value, and builds nothing.
///
/// Lenient where real servers are: `null` leaves a field as it was, names of members are taken in any case, and UTF-8
/// is not checked.
struct JSONMessageReader {
    private let text: UnsafePointer<UInt8>
    private var index: Int
    private let end: Int
    private var isFirst = false
    private var keyRange = 0..<0

    /// The name of the member that the reader stands at; empty if no message of the schema can have that name.
    private(set) var key = ""

    /// Nil if there is no memory to read.
    init?(_ frame: UnsafeRawBufferPointer, line: Range<Int>) {
        guard let base = frame.baseAddress else { return nil }
        text = base.assumingMemoryBound(to: UInt8.self)
        index = JSONScanner.skipWhiteSpace(text, line.lowerBound, line.upperBound)
        end = line.upperBound
    }

    // MARK: - Objects and arrays

    private mutating func beginObject() throws(WireError) { try begin(UInt8(ascii: "{")) }

    /// Goes to the value of the next member; false, and behind the object, if there is none.
    private mutating func nextMember() throws(WireError) -> Bool {
        guard try next(before: UInt8(ascii: "}")) else { return false }
        guard peek() == UInt8(ascii: "\"") else { throw mistake }
        let start = index + 1
        index = JSONScanner.skipUncheckedString(text, start, end)
        guard index >= 0 else { throw WireError(.notJSON, at: start) }
        keyRange = start..<index - 1
        let value = JSONScanner.skipColon(text, index, end)
        guard value >= 0 else { throw mistake }
        index = value
        key = fieldName(keyRange)
        return true
    }

    private mutating func beginArray() throws(WireError) { try begin(UInt8(ascii: "[")) }

    /// Goes to the next element; false, and behind the array, if there is none.
    private mutating func nextElement() throws(WireError) -> Bool { try next(before: UInt8(ascii: "]")) }

    private mutating func begin(_ bracket: UInt8) throws(WireError) {
        guard peek() == bracket else { throw unexpectedValue }
        index += 1
        isFirst = true
    }

    private mutating func next(before bracket: UInt8) throws(WireError) -> Bool {
        index = JSONScanner.skipWhiteSpace(text, index, end)
        let byte = peek()
        if byte == bracket {
            index += 1
            isFirst = false
            return false
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else { throw mistake }
            index = JSONScanner.skipWhiteSpace(text, index + 1, end)
        }
        isFirst = false
        return true
    }

    // MARK: - Values

    /// Goes over `null`, if the value is that.
    mutating func skipNull() throws(WireError) -> Bool {
        guard peek() == UInt8(ascii: "n") else { return false }
        try skip()
        return true
    }

    mutating func skip() throws(WireError) { _ = try value() }

    mutating func read(_ value: inout ByteString) throws(WireError) {
        if try skipNull() { return }
        guard peek() == UInt8(ascii: "\"") else { throw unexpectedValue }
        let range = try self.value()
        value = string(range.lowerBound + 1..<range.upperBound - 1)
    }

    mutating func read(_ value: inout Bool) throws(WireError) {
        if try skipNull() { return }
        let byte = peek()
        guard byte == UInt8(ascii: "t") || byte == UInt8(ascii: "f") else { throw unexpectedValue }
        try skip()
        value = byte == UInt8(ascii: "t")
    }

    /// A number without fraction and exponent that fits.
    mutating func read<Value: FixedWidthInteger>(_ value: inout Value) throws(WireError) {
        if try skipNull() { return }
        let unexpected = unexpectedValue
        let byte = peek()
        guard byte &- 0x30 < 10 || byte == UInt8(ascii: "-") && Value.isSigned else { throw unexpected }
        let digits = UnsafeBufferPointer(start: text, count: end)[try self.value()]
        guard let number: Value = JSONNumber.integer(digits) else { throw unexpected }
        value = number
    }

    /// Any value, exactly as it stands there.
    mutating func read(raw value: inout [UInt8]) throws(WireError) {
        value = [UInt8](UnsafeBufferPointer(start: text, count: end)[try self.value()])
    }

    /// Any value, exactly as it stands there.
    mutating func read(raw value: inout Payload) throws(WireError) {
        let range = try self.value()
        value = Payload(copying: UnsafeRawBufferPointer(start: text + range.lowerBound, count: range.count))
    }

    /// Adds what the object says to `message`; false if it is `null`.
    @discardableResult
    mutating func read(_ message: inout some JSONReadable) throws(WireError) -> Bool {
        if try skipNull() { return false }
        try beginObject()
        while try nextMember() { try message.readMember(&self) }
        return true
    }

    /// Adds what the object says to `message`, or to `empty` if there is none yet; `null` takes it away.
    mutating func read<Message: JSONReadable>(_ message: inout Message?, _ empty: Message) throws(WireError) {
        if try skipNull() {
            message = nil
            return
        }
        var filled = message ?? empty
        try read(&filled)
        message = filled
    }

    mutating func read<Message: JSONReadable>(
        _ list: inout [Message],
        of empty: Message
    ) throws(WireError) {
        list = []
        if try skipNull() { return }
        try beginArray()
        while try nextElement() {
            var message = empty
            try read(&message)
            list.append(message)
        }
    }

    /// Hands over the keys of a map, each with the reader at its value.
    mutating func readEntries(
        _ body: (inout JSONMessageReader, ByteString) throws(WireError) -> Void
    ) throws(WireError) {
        if try skipNull() { return }
        try beginObject()
        while try nextMember() { try body(&self, string(keyRange)) }
    }

    /// Adds the entries of a map of text to text.
    mutating func read(_ tags: inout [Tag]) throws(WireError) {
        try readEntries { (reader, key) throws(WireError) in
            var tag = Tag(key: key, value: .empty)
            try reader.read(&tag.value)
            tags.append(tag)
        }
    }

    /// The place of any value.
    private mutating func value() throws(WireError) -> Range<Int> {
        let start = index
        index = JSONScanner.skipUncheckedValue(text, start, end)
        guard index >= 0 else { throw WireError(.notJSON, at: start) }
        return start..<index
    }

    /// 0, which no value begins with, at the end.
    private func peek() -> UInt8 { index < end ? text[index] : 0 }

    private func string(_ range: Range<Int>) -> ByteString {
        let body = UnsafeBufferPointer(start: text + range.lowerBound, count: range.count)
        return ByteString(body.contains(UInt8(ascii: "\\")) ? JSONText.unescape(body) : Array(body))
    }

    /// In lower case; empty unless it is short ASCII, as all names of the schema are.
    ///
    /// So it can be compared as a `String`: nothing else is equal to ASCII.
    private func fieldName(_ range: Range<Int>) -> String {
        let name = string(range).bytes
        guard name.count < 16, name.allSatisfy({ $0 < 0x80 }) else { return "" }
        return String(decoding: name.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    // MARK: - Mistakes

    private var mistake: WireError { WireError(index < end ? .notJSON : .cutOff, at: index) }

    /// The value is another than the field has, or none.
    private var unexpectedValue: WireError {
        WireError(index < end ? .wrongType : .cutOff, at: index)
    }
}
