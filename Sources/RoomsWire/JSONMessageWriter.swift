internal import RoomsRuntime

/// Appends the members of messages, in the order of the calls; zero values are left out.
///
/// Written as real servers do: strings can stand in a web page, and payloads are spliced in without their line feeds.
struct JSONMessageWriter {
    private var bytes: [UInt8] = []
    private var needsComma = false
    /// False from the first payload on that is not JSON; nothing more is written then.
    private var isValid = true

    /// Runs `body` with a writer that appends to `bytes`, without a copy.
    ///
    /// Returns false, with `bytes` as they were, if a payload is not JSON.
    static func append(to bytes: inout [UInt8], _ body: (inout JSONMessageWriter) -> Void) -> Bool {
        let start = bytes.count
        var writer = JSONMessageWriter()
        swap(&writer.bytes, &bytes)
        body(&writer)
        swap(&writer.bytes, &bytes)
        if !writer.isValid { bytes.removeLast(bytes.count - start) }
        return writer.isValid
    }

    // MARK: - Objects

    mutating func object(_ members: (inout JSONMessageWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        members(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    mutating func object(_ name: StaticString, _ members: (inout JSONMessageWriter) -> Void) {
        key(name)
        object(members)
    }

    mutating func message(_ name: StaticString, _ message: some JSONMessage) {
        object(name) { message.write(to: &$0) }
    }

    /// Written also when it is empty.
    mutating func messages(_ name: StaticString, _ messages: [some JSONMessage]) {
        key(name)
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        for message in messages { object { message.write(to: &$0) } }
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    /// One entry of a map of text to messages.
    mutating func entry(_ name: ByteString, _ message: some JSONMessage) {
        key(name)
        object { message.write(to: &$0) }
    }

    mutating func tags(_ name: StaticString, _ tags: [Tag]) {
        guard !tags.isEmpty else { return }
        object(name) { writer in
            for tag in tags {
                writer.key(tag.key)
                writer.string(tag.value)
            }
        }
    }

    // MARK: - Fields

    mutating func number(_ name: StaticString, _ value: some FixedWidthInteger) {
        if value != 0 { entry(name, value) }
    }

    mutating func bool(_ name: StaticString, _ value: Bool) {
        guard value else { return }
        key(name)
        bytes.append(contentsOf: "true".utf8)
        needsComma = true
    }

    mutating func text(_ name: StaticString, _ value: ByteString) {
        if !value.isEmpty { entry(name, value) }
    }

    mutating func payload(_ name: StaticString, _ value: [UInt8]) {
        value.withUnsafeBytes { payload(name, $0) }
    }

    mutating func payload(_ name: StaticString, _ value: Payload) {
        value.withBytes { payload(name, $0) }
    }

    /// Written also when it is 0.
    mutating func entry(_ name: StaticString, _ value: some FixedWidthInteger) {
        key(name)
        var rest = value.magnitude
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        repeat {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            bytes.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: digit))
            rest = quotient
        } while rest != 0
        bytes[start...].reverse()
        needsComma = true
    }

    /// Written also when it is empty.
    mutating func entry(_ name: StaticString, _ value: ByteString) {
        key(name)
        string(value)
    }

    // MARK: - Bytes

    /// Line feeds are dropped wherever they stand, then it has to be JSON; what had nothing else is `null`.
    private mutating func payload(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
        guard !value.isEmpty, isValid else { return }
        key(name)
        let start = bytes.count
        var rest = value[...]
        while let lineFeed = rest.firstIndex(of: 0x0a) {
            bytes.append(contentsOf: rest[..<lineFeed])
            rest = rest[(lineFeed + 1)...]
        }
        bytes.append(contentsOf: rest)
        if bytes.count == start { bytes.append(contentsOf: "null".utf8) }
        isValid = bytes.withUnsafeBytes {
            JSONScanner.isValidUnchecked(UnsafeRawBufferPointer(rebasing: $0[start...]))
        }
        needsComma = true
    }

    private mutating func key(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func key(_ name: ByteString) {
        separate()
        string(name)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func string(_ text: ByteString) {
        text.bytes.withUnsafeBytes { JSONText.appendForWeb($0, to: &bytes) }
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }
}
