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

/// The bytes of an answer and what they are.
struct AnswerCase: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    /// Whether the peer closes behind it.
    var closes = false
    var outcome: Outcome

    init(_ name: String, _ text: String, closes: Bool = false, _ outcome: Outcome) {
        self.name = name
        self.text = text
        self.closes = closes
        self.outcome = outcome
    }

    var testDescription: String { name }
    var bytes: [UInt8] { Array(text.utf8) }

    static let table = statusLines + interims + lengths + chunked + odd + broken

    private static let ok = "HTTP/1.1 200 OK\r\n"
    private static let empty = "content-length: 0\r\n\r\n"

    private static let statusLines = [
        AnswerCase("ordinary", ok + empty, Outcome(200)),
        AnswerCase("no reason", "HTTP/1.1 200\r\n" + empty, Outcome(200)),
        AnswerCase("empty reason", "HTTP/1.1 200 \r\n" + empty, Outcome(200)),
        AnswerCase("reason of several words", "HTTP/1.1 503 Service Unavailable (später)\r\n" + empty, Outcome(503)),
        AnswerCase("unknown status", "HTTP/1.1 799 What\r\n" + empty, Outcome(799)),
        AnswerCase("status below 100", "HTTP/1.1 099 What\r\n" + empty, Outcome(99)),
        AnswerCase("later minor version", "HTTP/1.4 200 OK\r\n" + empty, Outcome(200)),
        AnswerCase("HTTP/1.0", "HTTP/1.0 200 OK\r\n" + empty, .odd(200)),
        AnswerCase("HTTP/1.0 that would go on", "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n" + empty, .odd(200)),
        AnswerCase("two spaces", "HTTP/1.1  201 Created\r\n" + empty, .odd(201)),
        AnswerCase("HTTP/2 in text", "HTTP/2 200\r\n" + empty, .unreadable(.unsupportedVersion)),
        AnswerCase("HTTP/0.9 version", "HTTP/0.9 200 OK\r\n" + empty, .unreadable(.unsupportedVersion)),
        AnswerCase("four digits", "HTTP/1.1 2000 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("two digits", "HTTP/1.1 20 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("no status", "HTTP/1.1 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("negative status", "HTTP/1.1 -20 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("no minor version", "HTTP/1 200 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("tab before the status", "HTTP/1.1\t200 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("lower case", "http/1.1 200 OK\r\n" + empty, .unreadable(.notHTTP)),
        AnswerCase("garbage before the status line", "garbage\r\n" + ok + empty, .unreadable(.notHTTP)),
        AnswerCase("empty line before the status line", "\r\n" + ok + empty, .unreadable(.notHTTP)),
        AnswerCase("only a page", "<html></html>", .unreadable(.notHTTP)),
        AnswerCase("another protocol", "SSH-2.0-OpenSSH_9.2\r\n", .unreadable(.notHTTP)),
        AnswerCase("five letters", "HTTP/\r\n", .unreadable(.notHTTP)),
        AnswerCase("NUL in the status line", "HTTP/1.1 200 O\0K\r\n" + empty, .unreadable(.nulInHead)),
        AnswerCase("NUL in a header", ok + "x: a\0b\r\n" + empty, .unreadable(.nulInHead)),
    ]

    private static let interims = [
        AnswerCase("100 first", "HTTP/1.1 100 Continue\r\n\r\n" + ok + empty, Outcome(200)),
        AnswerCase(
            "103 with fields, then 102, then the answer",
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\ncontent-length: 9\r\n\r\nHTTP/1.1 102 P\r\n\r\n" + ok + empty,
            Outcome(200)
        ),
        AnswerCase("only 100", "HTTP/1.1 100 Continue\r\n\r\n", Outcome(nil, isReusable: false, .head)),
        AnswerCase("only 100, closed", "HTTP/1.1 100 C\r\n\r\n", closes: true, .unreadable(.closedInHead)),
        AnswerCase("101 unasked", "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", .unreadable(.unexpectedUpgrade)),
    ]

    private static let lengths = [
        AnswerCase("length 5", ok + "content-length: 5\r\n\r\nhello", Outcome(200, "hello")),
        AnswerCase("length 5, more comes", ok + "Content-Length:5\r\n\r\nhelloHTTP", Outcome(200, "hello", left: 4)),
        AnswerCase("204 with what follows", "HTTP/1.1 204 No\r\n\r\nxyz", Outcome(204, left: 3)),
        AnswerCase("304 with a length", "HTTP/1.1 304 No\r\ncontent-length: 5\r\n\r\n", Outcome(304)),
        AnswerCase("connection close", ok + "connection: x, Close\r\n" + empty, .odd(200)),
        AnswerCase("until close", ok + "\r\nall the rest", closes: true, .odd(200, "all the rest")),
        AnswerCase("until close, still open", ok + "\r\nrest", Outcome(200, "rest", isReusable: false, .body)),
        AnswerCase("closed behind a whole answer", ok + empty, closes: true, .odd(200)),
        AnswerCase("the same length twice", ok + "content-length: 2\r\ncontent-length: 2\r\n\r\nok", .odd(200, "ok")),
        AnswerCase("the same length in a list", ok + "content-length: 2, 2\r\n\r\nok", .odd(200, "ok")),
        AnswerCase("two lengths", ok + "content-length: 2\r\ncontent-length: 3\r\n\r\nokk", .odd(200, left: 3)),
        AnswerCase("a length that is no number", ok + "content-length: two\r\n\r\nok", .odd(200, left: 2)),
        AnswerCase("a negative length", ok + "content-length: -2\r\n\r\nok", .odd(200, left: 2)),
        AnswerCase("an empty length", ok + "content-length:\r\n\r\n", .odd(200)),
        AnswerCase("a length beyond all", ok + "content-length: 99999999999999999999999\r\n\r\n", .odd(200)),
    ]

    private static let chunk = ok + "transfer-encoding: chunked\r\n\r\n"

    private static let chunked = [
        AnswerCase("chunks", chunk + "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", Outcome(200, "hello!")),
        AnswerCase("chunk sizes in hex", chunk + "0A\r\n0123456789\r\n00\r\n\r\n", Outcome(200, "0123456789")),
        AnswerCase("chunk extensions", chunk + "2;a=b;c=\"d\"\r\nok\r\n0 ;x\r\n\r\n", Outcome(200, "ok")),
        AnswerCase("trailers", chunk + "2\r\nok\r\n0\r\nx-sum: 1\r\nx-b: 2\r\n\r\nmore", Outcome(200, "ok", left: 4)),
        AnswerCase("line ends inside a chunk", chunk + "4\r\n\r\n\r\n\r\n0\r\n\r\n", Outcome(200, "\r\n\r\n")),
        AnswerCase("Chunked in another case", ok + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", Outcome(200)),
        AnswerCase(
            "length and chunks",
            ok + "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            .odd(200, "ok")
        ),
        AnswerCase(
            "chunks and length",
            ok + "transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            .odd(200, "ok")
        ),
        AnswerCase("gzip, chunked", ok + "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", .odd(200)),
        AnswerCase("gzip alone", ok + "transfer-encoding: gzip\r\n\r\nxx", closes: true, .odd(200, "xx")),
        AnswerCase("identity", ok + "transfer-encoding: identity\r\n" + empty, .odd(200)),
        AnswerCase("bare LF in chunks", chunk + "2\nok\n0\n\n", .odd(200, "ok")),
    ]

    private static let odd = [
        AnswerCase("bare LF", "HTTP/1.1 200 OK\ncontent-length: 2\n\nok", .odd(200, "ok")),
        AnswerCase("one bare LF", ok + "x: y\ncontent-length: 0\r\n\r\n", .odd(200)),
        AnswerCase("folded header", ok + "x: a\r\n b\r\n" + empty, .odd(200)),
        AnswerCase("fold before any header", ok + " content-length: 7\r\n" + empty, .odd(200)),
        AnswerCase("line without a colon", ok + "nonsense\r\n" + empty, .odd(200)),
        AnswerCase("field without a name", ok + ": x\r\n" + empty, .odd(200)),
        AnswerCase("blank before the colon", ok + "content-length : 2\r\n\r\nok", .odd(200, "ok")),
        AnswerCase("blank in a name", ok + "content length: 2\r\n" + empty, .odd(200)),
        AnswerCase("carriage return inside a value", ok + "x: a\rb\r\n" + empty, .odd(200)),
    ]

    private static let broken = [
        AnswerCase("nothing", "", closes: true, .unreadable(.closedBeforeAnswer)),
        AnswerCase("nothing yet", "", Outcome(nil, isReusable: false, .head)),
        AnswerCase("half a status line", "HTTP/1.1 20", closes: true, .unreadable(.closedInHead)),
        AnswerCase("head without its end", ok + "content-length: 0\r\n", closes: true, .unreadable(.closedInHead)),
        AnswerCase(
            "body cut off",
            ok + "content-length: 9\r\n\r\nhello",
            closes: true,
            .broken(200, "hello", .closedInBody)
        ),
        AnswerCase("chunk cut off", chunk + "9\r\nhello", closes: true, .broken(200, "hello", .closedInBody)),
        AnswerCase("no last chunk", chunk + "2\r\nok\r\n", closes: true, .broken(200, "ok", .closedInBody)),
        AnswerCase("chunk size that is none", chunk + "xyz\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("empty chunk size", chunk + "\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("negative chunk size", chunk + "-1\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("chunk size beyond all", chunk + "ffffffffffffffff\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("chunk longer than it says", chunk + "2\r\nokk\r\n", .broken(200, "ok", .malformedBody)),
    ]
}
