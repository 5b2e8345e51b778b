/// What the fields of an answer say about the length of its body and the fate of its connection.
struct Framing {
    enum Body {
        /// The lengths contradict each other or are no numbers: where the body ends cannot be known, none is read.
        case none
        case sized(UInt64)
        case chunked
        case untilClose
    }

    private(set) var isClosing = false
    /// The answer counts, but two readers could disagree about its end.
    private(set) var isOdd = false
    private var length: UInt64?
    private var isLengthClear = true
    private var codings = 0
    private var isChunked = false
    private var isEncoded = false

    mutating func take(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        // By length first: most fields are none of these.
        switch name.count {
        case 10 where HTTPGrammar.equals(name, "connection"):
            if HTTPGrammar.list(value, contains: "close") { isClosing = true }
        case 14 where HTTPGrammar.equals(name, "content-length"):
            takeLength(value)
        case 17 where HTTPGrammar.equals(name, "transfer-encoding"):
            takeEncoding(value)
        default:
            break
        }
    }

    var body: Body {
        if isEncoded { return isChunked ? .chunked : .untilClose }
        guard isLengthClear else { return .none }
        return length.map { .sized($0) } ?? .untilClose
    }

    /// A length other than zero, or a coding.
    var announcesBody: Bool { isEncoded || !isLengthClear || (length ?? 0) > 0 }

    private mutating func takeLength(_ value: UnsafeRawBufferPointer) {
        var numbers: [UInt64?] = []
        HTTPGrammar.forEachListed(value) { numbers.append(HTTPGrammar.decimal($0)) }
        if HTTPGrammar.decimal(value) == nil || length != nil || isEncoded { isOdd = true }
        if numbers.isEmpty { isLengthClear = false }
        for number in numbers {
            if number == nil || number != (length ?? number) {
                isOdd = true
                isLengthClear = false
            }
            length = length ?? number
        }
    }

    private mutating func takeEncoding(_ value: UnsafeRawBufferPointer) {
        if length != nil || !isLengthClear { isOdd = true }
        var isEmpty = true
        HTTPGrammar.forEachListed(value) { coding in
            isEmpty = false
            if HTTPGrammar.equals(coding, "identity") {
                isOdd = true
                return
            }
            codings += 1
            isEncoded = true
            isChunked = HTTPGrammar.equals(coding, "chunked")
            if codings > 1 { isOdd = true }
        }
        if isEmpty { isOdd = true }
    }
}
