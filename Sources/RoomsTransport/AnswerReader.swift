internal import RoomsHTTP
internal import RoomsRuntime

/// Gathers what libcurl hands over of one answer, within limits.
struct AnswerReader {
    /// Of all heads together, interim ones and trailers included.
    private static let headLimit = 64 * 1024

    private let bodyLimit: Int
    private var headBytes = 0
    /// A status line came, and not yet the end of its head.
    private(set) var isInHead = false
    private var fields: [ByteString: ByteString] = [:]
    private var body: [UInt8] = []
    /// Why the rest is not wanted.
    private(set) var flaw: TransportError?

    init(bodyLimit: Int) {
        self.bodyLimit = bodyLimit
    }

    /// A line of a head with its end; false: no more of it.
    mutating func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        guard headBytes <= Self.headLimit else {
            flaw = TransportError(.messageTooLarge, "the head of the answer has more than \(Self.headLimit) bytes")
            return false
        }
        if line.starts(with: "HTTP/".utf8) {
            // An interim answer came before.
            fields = [:]
            isInHead = true
            return true
        }
        let text = line.filter { $0 != 0x0d && $0 != 0x0a }
        if text.isEmpty { isInHead = false }
        guard isInHead, let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return true }
        let name = text[..<colon].map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
        let value = text[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
        let blanks = value.reversed().prefix { $0 == 0x20 || $0 == 0x09 }.count
        // The first of several counts; the others are not asked for.
        if fields[ByteString(name)] == nil { fields[ByteString(name)] = ByteString(Array(value.dropLast(blanks))) }
        return true
    }

    /// A piece of the body; false: no more of it.
    mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= bodyLimit - body.count else {
            refuseBody()
            return false
        }
        body.append(contentsOf: bytes)
        return true
    }

    /// The body is longer than wanted, or says so beforehand.
    mutating func refuseBody() {
        flaw = TransportError(.messageTooLarge, "the body of the answer has more than \(bodyLimit) bytes")
        body = []
    }

    func answer(status: Int, wall: Int64) -> TransferAnswer {
        TransferAnswer(
            status: status,
            contentType: fields["content-type"],
            retryAfter: fields["retry-after"].flatMap { RetryAfter.delay($0, date: fields["date"], wall: wall) },
            body: body,
            date: fields["date"].flatMap { HTTPDate.seconds($0, wall: wall) }
        )
    }
}
