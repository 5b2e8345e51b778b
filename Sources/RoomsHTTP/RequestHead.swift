package import RoomsRuntime

/// The bytes of a request up to its body: request line, `host`, header fields.
///
/// Every name and value is checked as it is added: nothing with a line end or a NUL gets in. Where the method, the host
/// and the fixed fields are the same each time, one head is kept as a beginning and `restart` copies it.
package struct RequestHead: Sendable {
    package private(set) var bytes: [UInt8] = []

    /// A buffer for `restart`.
    package init() {}

    package init(method: StaticString, target: ByteString, host: ByteString) throws(RequestError) {
        guard !target.isEmpty, target.bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7f }) else {
            throw RequestError(code: .invalidTarget, message: "a request target has no spaces or control characters")
        }
        append(method)
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: target.bytes)
        append(" HTTP/1.1\r\n")
        try add("host", host)
    }

    /// Begins anew as a copy of `beginning`; the storage is used again.
    package mutating func restart(from beginning: RequestHead) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(contentsOf: beginning.bytes)
    }

    package mutating func add(_ name: StaticString, _ value: ByteString) throws(RequestError) {
        guard value.bytes.allSatisfy(Self.isFieldByte) else { throw Self.invalidValue }
        append(name)
        append(": ")
        bytes.append(contentsOf: value.bytes)
        append("\r\n")
    }

    /// A field whose name comes from outside.
    package mutating func add(foreign name: ByteString, _ value: ByteString) throws(RequestError) {
        guard !name.isEmpty, name.bytes.allSatisfy(HTTPGrammar.isTokenByte) else {
            throw RequestError(
                code: .invalidName,
                message: "a header name is made of letters, digits and !#$%&'*+-.^_`|~"
            )
        }
        guard value.bytes.allSatisfy(Self.isFieldByte) else { throw Self.invalidValue }
        bytes.append(contentsOf: name.bytes)
        append(": ")
        bytes.append(contentsOf: value.bytes)
        append("\r\n")
    }

    /// A value from outside, in the form that CloudEvents' HTTP binding gives it: space, `"`, `%` and all that is not
    /// printable ASCII become `%XX`.
    package mutating func add(_ name: StaticString, percentEncoding value: ByteString) {
        append(name)
        append(": ")
        append(percentEncoding: value)
    }

    /// The same, where the rest of the name is known to be clean.
    package mutating func add(_ prefix: StaticString, _ name: ByteString, percentEncoding value: ByteString) {
        append(prefix)
        bytes.append(contentsOf: name.bytes)
        append(": ")
        append(percentEncoding: value)
    }

    private mutating func append(percentEncoding value: ByteString) {
        for byte in value.bytes {
            if byte > 0x20, byte < 0x7f, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "%") {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(Self.hexadecimal[Int(byte >> 4)])
                bytes.append(Self.hexadecimal[Int(byte & 15)])
            }
        }
        append("\r\n")
    }

    /// A value of our own making that is known to be clean.
    package mutating func add(_ name: StaticString, unchecked value: [UInt8]) {
        append(name)
        append(": ")
        bytes.append(contentsOf: value)
        append("\r\n")
    }

    package mutating func add(_ name: StaticString, literal value: StaticString) {
        append(name)
        append(": ")
        append(value)
        append("\r\n")
    }

    package mutating func add(_ name: StaticString, number: Int64) {
        append(name)
        append(": ")
        DecimalText.append(number, to: &bytes)
        append("\r\n")
    }

    package mutating func add(_ name: StaticString, unsigned number: UInt64) {
        append(name)
        append(": ")
        DecimalText.append(number, to: &bytes)
        append("\r\n")
    }

    /// The empty line that ends the head.
    package mutating func end() {
        append("\r\n")
    }

    /// Puts the body behind the ended head, so that both leave in one piece.
    package mutating func append(body: [UInt8]) {
        bytes.append(contentsOf: body)
    }

    private mutating func append(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private static let invalidValue = RequestError(
        code: .invalidValue,
        message: "a header value has no line ends or other control characters"
    )

    private static let hexadecimal = Array("0123456789ABCDEF".utf8)

    private static func isFieldByte(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7f || byte == 0x09
    }
}

/// Why a request cannot be written.
package struct RequestError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        case invalidTarget
        case invalidName
        case invalidValue
    }

    package let code: Code
    package let message: String

    package var description: String { message }
}
