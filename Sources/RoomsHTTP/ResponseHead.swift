package import RoomsRuntime

/// Status and header fields of an answer.
///
/// The fields lie in one buffer as they came: an answer costs no allocation per field.
package struct ResponseHead: Sendable {
    private struct Field: Sendable {
        var name: Range<Int>
        var value: Range<Int>
    }

    package internal(set) var status = 0
    /// The second digit of `HTTP/1.x`.
    package internal(set) var minorVersion = 1
    private var text: [UInt8] = []
    private var fields: [Field] = []

    init() {}

    /// Names in lower case, in the order of their lines.
    package var headers: [(name: ByteString, value: ByteString)] {
        fields.map { (ByteString(text[$0.name].map(HTTPGrammar.lowerCased)), ByteString(Array(text[$0.value]))) }
    }

    package var count: Int { fields.count }

    /// The value of the first field called `name` (lower case).
    package func first(_ name: ByteString) -> ByteString? {
        for field in fields where field.name.count == name.count {
            if text[field.name].lazy.map(HTTPGrammar.lowerCased).elementsEqual(name.bytes) {
                return ByteString(Array(text[field.value]))
            }
        }
        return nil
    }

    /// Each field in order, without copies; the pointers live for the call.
    func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
        text.withUnsafeBytes { text in
            for field in fields {
                body(
                    UnsafeRawBufferPointer(rebasing: text[field.name]),
                    UnsafeRawBufferPointer(rebasing: text[field.value])
                )
            }
        }
    }

    mutating func clear() {
        status = 0
        minorVersion = 1
        text.removeAll(keepingCapacity: true)
        fields.removeAll(keepingCapacity: true)
    }

    mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        let start = text.count
        text.append(contentsOf: name)
        let middle = text.count
        append(value)
        fields.append(Field(name: start..<middle, value: middle..<text.count))
    }

    /// Continues the last field's value, as a folded line does; a fold of nothing is dropped.
    mutating func fold(_ more: UnsafeRawBufferPointer) {
        guard let last = fields.indices.last else { return }
        text.append(0x20)
        append(more)
        fields[last].value = fields[last].value.lowerBound..<text.count
    }

    /// A carriage return that ends no line counts as a space (RFC 9112 section 2.2).
    private mutating func append(_ value: UnsafeRawBufferPointer) {
        let start = text.count
        text.append(contentsOf: value)
        while let place = text[start...].firstIndex(of: 0x0d) { text[place] = 0x20 }
    }
}

/// What an answer may cost.
package struct ResponseLimits: Sendable {
    /// One line of the head, of the chunk sizes and of the trailer.
    package var lineBytes: Int
    /// All lines of the head, interim answers included; once more for the trailer, and for the extensions of chunks.
    package var headBytes: Int
    package var headerLines: Int
    package var interimAnswers: Int
    /// What is kept of the body; a longer one is a failure behind a good head.
    package var bodyBytes: Int

    package init(
        lineBytes: Int = 16 * 1024,
        headBytes: Int = 32 * 1024,
        headerLines: Int = 100,
        interimAnswers: Int = 16,
        bodyBytes: Int = 64 * 1024
    ) {
        self.lineBytes = lineBytes
        self.headBytes = headBytes
        self.headerLines = headerLines
        self.interimAnswers = interimAnswers
        self.bodyBytes = bodyBytes
    }
}

/// Why an answer cannot be read, or not to its end.
package struct ResponseError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Code: Hashable, Sendable {
        /// The peer closed before the first byte: it may not even have seen the request.
        case closedBeforeAnswer
        case closedInHead
        case closedInBody
        case notHTTP
        case unsupportedVersion
        case malformedStatusLine
        case nulInHead
        case headTooLarge
        case tooManyInterimAnswers
        /// 101 where no upgrade was asked for.
        case unexpectedUpgrade
        case malformedBody
        case bodyTooLarge
    }

    package let code: Code

    package init(code: Code) {
        self.code = code
    }

    package var description: String { message }

    package var message: String {
        switch code {
        case .closedBeforeAnswer: "the connection was closed before the first byte of the answer"
        case .closedInHead: "the connection was closed in the middle of the answer's head"
        case .closedInBody: "the connection was closed before the end of the answer's body"
        case .notHTTP: "the answer does not begin with HTTP/1"
        case .unsupportedVersion: "the answer is of another version than HTTP/1.0 or 1.1"
        case .malformedStatusLine: "the answer's status line has no status of three digits"
        case .nulInHead: "the answer's head holds a NUL"
        case .headTooLarge: "the answer's head is too large"
        case .tooManyInterimAnswers: "too many interim answers (1xx) came before the final one"
        case .unexpectedUpgrade: "the answer is 101, but no upgrade was asked for"
        case .malformedBody: "the answer's body is not chunked as its head says"
        case .bodyTooLarge: "the answer's body is too large"
        }
    }
}
