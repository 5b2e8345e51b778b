import RoomsHTTP
import Testing

/// What is made of the bytes of an answer.
struct Outcome: Equatable, Sendable {
    enum State: Equatable, Sendable {
        case head
        case body
        case complete
        case failed(ResponseError.Code)
    }

    var state = State.complete
    var status: Int?
    var body: String
    var isReusable: Bool
    /// Bytes behind a complete answer.
    var left = 0

    init(_ status: Int?, _ body: String = "", isReusable: Bool = true, left: Int = 0, _ state: State = .complete) {
        self.state = state
        self.status = status
        self.body = body
        self.isReusable = isReusable
        self.left = left
    }

    /// Readable, but its connection is not used again.
    static func odd(_ status: Int, _ body: String = "", left: Int = 0) -> Outcome {
        Outcome(status, body, isReusable: false, left: left)
    }

    static func unreadable(_ code: ResponseError.Code) -> Outcome {
        Outcome(nil, "", isReusable: false, .failed(code))
    }

    static func broken(_ status: Int, _ body: String, _ code: ResponseError.Code) -> Outcome {
        Outcome(status, body, isReusable: false, .failed(code))
    }
}

extension Outcome {
    /// What a decoder makes of these reads.
    init(of reads: [ArraySlice<UInt8>], closes: Bool, limits: ResponseLimits = ResponseLimits()) {
        var decoder = ResponseDecoder(limits: limits)
        var left = 0
        for read in reads {
            let taken = read.withUnsafeBytes { decoder.decode($0) }
            left += read.count - taken
        }
        if closes { decoder.peerClosed() }
        self.init(decoder.status, String(decoding: decoder.body, as: UTF8.self), isReusable: decoder.isReusable)
        switch decoder.state {
        case .head: state = .head
        case .body: state = .body
        case .complete: self.left = left
        case .failed(let error): state = .failed(error.code)
        }
    }
}

/// The bytes of an answer and what they are.
struct AnswerCase: Sendable, CustomTestStringConvertible {
    /// What libcurl makes of the same bytes, and why that is not what we make of them.
    struct Difference: Sendable {
        var verdict: Verdict
        var reason: String
    }

    /// What a client that gives no more than an answer or an error says.
    enum Verdict: Equatable, Sendable {
        case answer(Int, String)
        case failure
    }

    var name: String
    var text: String
    /// Whether the peer closes behind it.
    var closes: Bool
    var outcome: Outcome
    var difference: Difference?

    init(_ name: String, _ text: String, closes: Bool = false, _ outcome: Outcome, libcurl: Difference? = nil) {
        self.name = name
        self.text = text
        self.closes = closes
        self.outcome = outcome
        difference = libcurl
    }

    var testDescription: String { name }
    var bytes: [UInt8] { Array(text.utf8) }

    /// The outcome in such words: a body that is broken or has no end is an error there.
    var verdict: Verdict {
        guard let status = outcome.status, outcome.state == .complete else { return .failure }
        return .answer(status, outcome.body)
    }

    static let table = statusLines + interims + lengths + endings + chunked + codings + fields + broken

    static let ok = "HTTP/1.1 200 OK\r\n"
    static let empty = "content-length: 0\r\n\r\n"
    static let chunk = ok + "transfer-encoding: chunked\r\n\r\n"
}

extension AnswerCase.Difference {
    static func answers(_ status: Int, _ body: String = "", _ reason: String) -> AnswerCase.Difference {
        AnswerCase.Difference(verdict: .answer(status, body), reason: reason)
    }

    static func fails(_ reason: String) -> AnswerCase.Difference {
        AnswerCase.Difference(verdict: .failure, reason: reason)
    }
}
