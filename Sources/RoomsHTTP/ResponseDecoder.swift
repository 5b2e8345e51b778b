internal import Glibc
internal import RoomsRuntime

/// Reads one answer after the other from a connection's bytes (RFC 9112, the client's side).
///
/// An answer that is odd but readable (bare LF, folded line, HTTP/1.0, two lengths) counts by its status, and
/// `isReusable` is false. A head that cannot be read fails. Behind a complete head a failure concerns the body alone:
/// `head` stays. However the bytes are cut into reads, the outcome is the same.
package struct ResponseDecoder {
    package enum State: Hashable, Sendable {
        /// The final answer's head is not complete.
        case head
        case body
        case complete
        case failed(ResponseError)
    }

    private enum Phase {
        case statusLine
        case headerLine
        case sized(UInt64)
        case untilClose
        case chunkSize
        case chunk(UInt64)
        case chunkEnd
        case trailer
        case complete
        case failed(ResponseError)
    }

    private let limits: ResponseLimits
    private let acceptsUpgrade: Bool
    private var phase = Phase.statusLine
    private var current = ResponseHead()
    /// The beginning of a line whose end has not come.
    private var partial: [UInt8] = []
    private var headBytes = 0
    private var headerLines = 0
    private var interimAnswers = 0
    /// What the lines of chunk sizes hold beside the sizes.
    private var extensionBytes = 0
    private var isHeadComplete = false
    private var isOdd = false
    private var isClosing = false
    package private(set) var body: [UInt8] = []
    /// Whether any byte of the answer has come.
    package private(set) var hasBegun = false

    // Stored, not computed: their readers in other modules would copy the whole decoder for each.
    package private(set) var state = State.head
    /// The final answer's status, once its head is complete.
    package private(set) var status: Int?
    /// Whether the connection may carry another request.
    package private(set) var isReusable = false

    package init(limits: ResponseLimits = ResponseLimits(), acceptsUpgrade: Bool = false) {
        self.limits = limits
        self.acceptsUpgrade = acceptsUpgrade
    }

    /// The final answer's head, once it is complete.
    package var head: ResponseHead? { isHeadComplete ? current : nil }

    /// Makes ready for the next answer; storage is used again.
    package mutating func reset() {
        phase = .statusLine
        current.clear()
        partial.removeAll(keepingCapacity: true)
        headBytes = 0
        headerLines = 0
        interimAnswers = 0
        extensionBytes = 0
        isHeadComplete = false
        isOdd = false
        isClosing = false
        body.removeAll(keepingCapacity: true)
        hasBegun = false
        publish()
    }

    /// Reads from `bytes` and says how many were taken; stops behind a complete answer, takes nothing after a failure.
    package mutating func decode(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty else { return 0 }
        hasBegun = true
        defer { publish() }
        var index = 0
        while true {
            switch phase {
            case .complete, .failed:
                return index
            case .statusLine, .headerLine, .chunkSize, .chunkEnd, .trailer:
                takeLine(bytes, &index)
            case .sized(let rest):
                let taken = keep(bytes, &index, rest)
                if case .failed = phase { return index }
                phase = taken == rest ? .complete : .sized(rest - taken)
            case .chunk(let rest):
                let taken = keep(bytes, &index, rest)
                if case .failed = phase { return index }
                phase = taken == rest ? .chunkEnd : .chunk(rest - taken)
            case .untilClose:
                _ = keep(bytes, &index, .max)
            }
            if index == bytes.count { return index }
        }
    }

    /// The peer sends no more.
    package mutating func peerClosed() {
        defer { publish() }
        switch phase {
        case .complete:
            isClosing = true
        case .failed:
            break
        case .untilClose:
            phase = .complete
        case .statusLine where !hasBegun:
            fail(.closedBeforeAnswer)
        case .statusLine, .headerLine:
            fail(.closedInHead)
        case .sized, .chunkSize, .chunk, .chunkEnd, .trailer:
            fail(.closedInBody)
        }
    }

    private mutating func publish() {
        switch phase {
        case .statusLine, .headerLine: state = .head
        case .sized, .untilClose, .chunkSize, .chunk, .chunkEnd, .trailer: state = .body
        case .complete: state = .complete
        case .failed(let error): state = .failed(error)
        }
        status = isHeadComplete ? current.status : nil
        isReusable = state == .complete && !isOdd && !isClosing
    }

    private mutating func fail(_ code: ResponseError.Code) {
        phase = .failed(ResponseError(code: code))
    }

    /// Moves up to `rest` bytes into `body` and says how many; fails when there are more than may be kept.
    private mutating func keep(_ bytes: UnsafeRawBufferPointer, _ index: inout Int, _ rest: UInt64) -> UInt64 {
        let count = Int(min(rest, UInt64(bytes.count - index)))
        let kept = min(count, limits.bodyBytes - body.count)
        body.append(contentsOf: bytes[index..<index + kept])
        index += kept
        if kept < count { fail(.bodyTooLarge) }
        return UInt64(kept)
    }

    // MARK: lines

    /// Takes one line, or what there is of it.
    private mutating func takeLine(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[index...])
        guard let base = rest.baseAddress else { return }
        let end = memchr(base, 0x0a, rest.count).map { UnsafeRawPointer($0) - base }
        let piece = UnsafeRawBufferPointer(rebasing: rest[..<(end ?? rest.count)])
        index += end == nil ? piece.count : piece.count + 1
        if partial.isEmpty, end != nil { return judge(piece, isWhole: true) }
        partial.append(contentsOf: piece)
        var line: [UInt8] = []
        swap(&line, &partial)
        line.withUnsafeBytes { judge($0, isWhole: end != nil) }
        if end != nil { line.removeAll(keepingCapacity: true) }
        swap(&line, &partial)
    }

    /// Holds a line, whole or not, against the limits.
    private mutating func judge(_ line: UnsafeRawBufferPointer, isWhole: Bool) {
        let size = line.count + (isWhole ? 1 : 0)
        switch phase {
        case .statusLine where !zip(line, Self.begin).allSatisfy({ $0 == $1 }):
            // At once: a peer of another protocol may never send a line end.
            return fail(.notHTTP)
        case .statusLine, .headerLine, .trailer:
            guard size <= limits.lineBytes, headBytes + size <= limits.headBytes else {
                return fail(isHeadComplete ? .malformedBody : .headTooLarge)
            }
            if isWhole { headBytes += size }
        default:
            guard size <= limits.lineBytes else { return fail(.malformedBody) }
        }
        if isWhole { take(line) }
    }

    private static let begin = Array("HTTP/".utf8)

    private mutating func take(_ raw: UnsafeRawBufferPointer) {
        var line = raw
        if line.last == 0x0d {
            line = UnsafeRawBufferPointer(rebasing: line.dropLast())
        } else {
            isOdd = true
        }
        switch phase {
        case .statusLine: takeStatusLine(line)
        case .headerLine: takeHeaderLine(line)
        case .chunkSize: takeChunkSize(line)
        case .chunkEnd where line.isEmpty: phase = .chunkSize
        case .chunkEnd: fail(.malformedBody)
        case .trailer where line.isEmpty: phase = .complete
        default: break
        }
    }

    private mutating func takeStatusLine(_ line: UnsafeRawBufferPointer) {
        guard line.count >= 6 else { return fail(.notHTTP) }
        guard !line.contains(0) else { return fail(.nulInHead) }
        guard line[5] == UInt8(ascii: "1") else { return fail(.unsupportedVersion) }
        guard line.count >= 12, line[6] == UInt8(ascii: "."), let minor = HTTPGrammar.hexDigit(line[7]), minor < 10,
            line[8] == 0x20
        else { return fail(.malformedStatusLine) }
        var start = 9
        while start < line.count, line[start] == 0x20 { start += 1 }
        let isBare = line.count == start + 3
        guard isBare || line.count > start + 3 && !(UInt8(ascii: "0")...UInt8(ascii: "9") ~= line[start + 3]),
            let status = HTTPGrammar.decimal(UnsafeRawBufferPointer(rebasing: line[start..<start + 3]))
        else { return fail(.malformedStatusLine) }
        if start > 9 || minor == 0 || line.contains(0x0d) || !isBare && line[start + 3] != 0x20 { isOdd = true }
        current.status = Int(status)
        current.minorVersion = Int(minor)
        phase = .headerLine
    }

    private mutating func takeHeaderLine(_ line: UnsafeRawBufferPointer) {
        guard let first = line.first else { return finishHead() }
        headerLines += 1
        guard headerLines <= limits.headerLines else { return fail(.headTooLarge) }
        var colon = 0
        while colon < line.count, HTTPGrammar.isTokenByte(line[colon]) { colon &+= 1 }
        let isClean = colon > 0 && colon < line.count && line[colon] == UInt8(ascii: ":")
        for index in colon..<line.count where line[index] < 0x20 {
            if line[index] == 0 { return fail(.nulInHead) }
            if line[index] == 0x0d { isOdd = true }
        }
        if !isClean {
            isOdd = true
            if HTTPGrammar.isBlank(first) { return current.fold(HTTPGrammar.trimmed(line)) }
            guard let found = line.firstIndex(of: UInt8(ascii: ":")), found > 0 else { return }
            colon = found
        }
        current.add(
            name: HTTPGrammar.trimmed(UnsafeRawBufferPointer(rebasing: line[..<colon])),
            value: HTTPGrammar.trimmed(UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]))
        )
    }

    private mutating func takeChunkSize(_ line: UnsafeRawBufferPointer) {
        var size: UInt64 = 0
        var index = 0
        while index < line.count, let digit = HTTPGrammar.hexDigit(line[index]) {
            size = size << 4 | digit
            index += 1
            // Fifteen digits are an exabyte: no body of ours.
            guard index <= 15 else { return fail(.malformedBody) }
        }
        let rest = HTTPGrammar.trimmed(UnsafeRawBufferPointer(rebasing: line[index...]))
        guard index > 0, rest.isEmpty || rest[0] == UInt8(ascii: ";") else { return fail(.malformedBody) }
        extensionBytes += rest.count
        guard extensionBytes <= limits.headBytes else { return fail(.malformedBody) }
        if size > 0 {
            phase = .chunk(size)
        } else {
            headBytes = 0
            phase = .trailer
        }
    }

    // MARK: the end of a head

    private mutating func finishHead() {
        if current.status == 101 {
            guard acceptsUpgrade else { return fail(.unexpectedUpgrade) }
            isHeadComplete = true
            isClosing = true
            phase = .complete
            return
        }
        if 100..<200 ~= current.status {
            interimAnswers += 1
            guard interimAnswers <= limits.interimAnswers else { return fail(.tooManyInterimAnswers) }
            current.clear()
            phase = .statusLine
            return
        }
        isHeadComplete = true
        var framing = Framing()
        current.forEach { framing.take(name: $0, value: $1) }
        isClosing = framing.isClosing
        isOdd = isOdd || framing.isOdd
        if current.status == 204 || current.status == 304 {
            // These have no body, but whoever writes a length may well send one.
            if framing.announcesBody { isOdd = true }
            phase = .complete
            return
        }
        switch framing.body {
        case .none: phase = .complete
        case .sized(0): phase = .complete
        case .sized(let length): phase = .sized(length)
        case .chunked: phase = .chunkSize
        case .untilClose:
            isClosing = true
            phase = .untilClose
        }
    }
}
