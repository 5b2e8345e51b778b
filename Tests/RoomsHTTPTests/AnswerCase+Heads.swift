import RoomsHTTP

/// Status lines, interim answers and header fields.
extension AnswerCase {
    static let statusLines = [
        AnswerCase("ordinary", ok + empty, Outcome(200)),
        AnswerCase("no reason", "HTTP/1.1 200\r\n" + empty, Outcome(200)),
        AnswerCase("empty reason", "HTTP/1.1 200 \r\n" + empty, Outcome(200)),
        AnswerCase("reason of several words", "HTTP/1.1 503 Service Unavailable (später)\r\n" + empty, Outcome(503)),
        AnswerCase("control character in the reason", "HTTP/1.1 200 O\u{1}K\r\n" + empty, Outcome(200)),
        AnswerCase("carriage return in the reason", "HTTP/1.1 200 O\rK\r\n" + empty, .odd(200)),
        AnswerCase("long reason", "HTTP/1.1 200 \(String(repeating: "so ", count: 300))\r\n" + empty, Outcome(200)),
        AnswerCase("unknown status", "HTTP/1.1 799 What\r\n" + empty, Outcome(799)),
        AnswerCase("the last status", "HTTP/1.1 999 What\r\n" + empty, Outcome(999)),
        AnswerCase(
            "status below 100",
            "HTTP/1.1 099 What\r\n" + empty,
            Outcome(99),
            libcurl: .fails("it takes no status below 100; ours is for the policy to judge")
        ),
        AnswerCase(
            "status zero",
            "HTTP/1.1 000 What\r\n" + empty,
            Outcome(0),
            libcurl: .fails("it takes no status below 100; ours is for the policy to judge")
        ),
        AnswerCase(
            "later minor version",
            "HTTP/1.4 200 OK\r\n" + empty,
            Outcome(200),
            libcurl: .fails("it knows 1.0 and 1.1 alone; RFC 9110 section 2.5 reads later ones as the last it knows")
        ),
        AnswerCase("HTTP/1.0", "HTTP/1.0 200 OK\r\n" + empty, .odd(200)),
        AnswerCase("HTTP/1.0 that would go on", "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n" + empty, .odd(200)),
        AnswerCase("two spaces", "HTTP/1.1  201 Created\r\n" + empty, .odd(201)),
        AnswerCase("three spaces", "HTTP/1.1   201 Created\r\n" + empty, .odd(201)),
        AnswerCase(
            "HTTP/2 in text",
            "HTTP/2 200\r\n" + empty,
            .unreadable(.unsupportedVersion),
            libcurl: .answers(200, "", "it takes the text of any version that it knows; this connection speaks 1.1")
        ),
        AnswerCase("HTTP/3 in text", "HTTP/3 200\r\n" + empty, .unreadable(.unsupportedVersion)),
        AnswerCase("HTTP/0.9 version", "HTTP/0.9 200 OK\r\n" + empty, .unreadable(.unsupportedVersion)),
        AnswerCase(
            "blank before the version",
            "HTTP/ 1.1 200 OK\r\n" + empty,
            .unreadable(.unsupportedVersion),
            libcurl: .answers(200, "", "it skips blanks; no version can be read there")
        ),
        AnswerCase("four digits", "HTTP/1.1 2000 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("two digits", "HTTP/1.1 20 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("no status", "HTTP/1.1 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("nothing but the version", "HTTP/1.1\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("negative status", "HTTP/1.1 -20 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("letters behind the status", "HTTP/1.1 200OK\r\n" + empty, .odd(200)),
        AnswerCase("tab behind the status", "HTTP/1.1 200\tOK\r\n" + empty, .odd(200)),
        AnswerCase("tab before the status", "HTTP/1.1\t200 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("no minor version", "HTTP/1 200 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("two digits of version", "HTTP/1.10 200 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("a letter of version", "HTTP/1.x 200 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase("no dot in the version", "HTTP/11 200 OK\r\n" + empty, .unreadable(.malformedStatusLine)),
        AnswerCase(
            "lower case",
            "http/1.1 200 OK\r\n" + empty,
            .unreadable(.notHTTP),
            libcurl: .answers(200, "", "it compares without case; the name of the protocol has one")
        ),
        AnswerCase("garbage before the status line", "garbage\r\n" + ok + empty, .unreadable(.notHTTP)),
        AnswerCase("empty line before the status line", "\r\n" + ok + empty, .unreadable(.notHTTP)),
        AnswerCase("blank before the status line", " " + ok + empty, .unreadable(.notHTTP)),
        AnswerCase("byte order mark", "\u{feff}" + ok + empty, .unreadable(.notHTTP)),
        AnswerCase("only a page", "<html></html>", .unreadable(.notHTTP)),
        AnswerCase("another protocol", "SSH-2.0-OpenSSH_9.2\r\n", .unreadable(.notHTTP)),
        AnswerCase("music", "ICY 200 OK\r\n" + empty, .unreadable(.notHTTP)),
        AnswerCase("five letters", "HTTP/\r\n", .unreadable(.notHTTP)),
        AnswerCase("NUL in the status line", "HTTP/1.1 200 O\0K\r\n" + empty, .unreadable(.nulInHead)),
        AnswerCase("NUL in the status", "HTTP/1.1 20\0 OK\r\n" + empty, .unreadable(.nulInHead)),
        AnswerCase(
            "line ends of one CR",
            "HTTP/1.1 200 OK\rcontent-length: 0\r\r",
            closes: true,
            .unreadable(.closedInHead)
        ),
    ]

    static let interims = [
        AnswerCase("100 first", "HTTP/1.1 100 Continue\r\n\r\n" + ok + empty, Outcome(200)),
        AnswerCase("an unknown 1xx", "HTTP/1.1 199 X\r\n\r\n" + ok + empty, Outcome(200)),
        AnswerCase(
            "103 with fields, then 102, then the answer",
            "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\ncontent-length: 9\r\n\r\nHTTP/1.1 102 P\r\n\r\n" + ok + empty,
            Outcome(200)
        ),
        AnswerCase(
            "100 that says it is chunked and closes",
            "HTTP/1.1 100 C\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n" + ok + empty,
            Outcome(200)
        ),
        AnswerCase(
            "sixteen of them",
            String(repeating: "HTTP/1.1 100 C\r\n\r\n", count: 16) + ok + empty,
            Outcome(200)
        ),
        AnswerCase(
            "seventeen of them",
            String(repeating: "HTTP/1.1 100 C\r\n\r\n", count: 17) + ok + empty,
            .unreadable(.tooManyInterimAnswers),
            libcurl: .answers(200, "", "it counts no interim answers; ours end")
        ),
        AnswerCase("100 with bare LF", "HTTP/1.1 100 C\n\n" + ok + empty, .odd(200)),
        AnswerCase("100 of HTTP/1.0", "HTTP/1.0 100 C\r\n\r\n" + ok + empty, .odd(200)),
        AnswerCase("100 with a NUL", "HTTP/1.1 100 C\r\nx: \0\r\n\r\n" + ok + empty, .unreadable(.nulInHead)),
        AnswerCase("100, then garbage", "HTTP/1.1 100 C\r\n\r\nhello", closes: true, .unreadable(.notHTTP)),
        AnswerCase("100, then an empty line", "HTTP/1.1 100 C\r\n\r\n\r\n" + ok + empty, .unreadable(.notHTTP)),
        AnswerCase(
            "100 whose head does not end",
            "HTTP/1.1 100 C\r\n" + ok + empty,
            Outcome(nil, isReusable: false, .head)
        ),
        AnswerCase("only 100", "HTTP/1.1 100 Continue\r\n\r\n", Outcome(nil, isReusable: false, .head)),
        AnswerCase("only 100, closed", "HTTP/1.1 100 C\r\n\r\n", closes: true, .unreadable(.closedInHead)),
        AnswerCase(
            "100, then half a head",
            "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n",
            closes: true,
            .unreadable(.closedInHead)
        ),
        AnswerCase("101 unasked", "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", .unreadable(.unexpectedUpgrade)),
        AnswerCase(
            "101 unasked, then an answer",
            "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n" + ok + empty,
            .unreadable(.unexpectedUpgrade)
        ),
    ]

    static let fields = [
        AnswerCase("bare LF", "HTTP/1.1 200 OK\ncontent-length: 2\n\nok", .odd(200, "ok")),
        AnswerCase("one bare LF", ok + "x: y\ncontent-length: 0\r\n\r\n", .odd(200)),
        AnswerCase("bare LF at the end", ok + "content-length: 0\r\n\n", .odd(200)),
        AnswerCase(
            "LF CR in place of CR LF",
            "HTTP/1.1 200 OK\n\rcontent-length: 0\n\r\n",
            closes: true,
            .odd(200),
            libcurl: .fails("it wants a name at the beginning of a field; a line that is none is left out")
        ),
        AnswerCase("two CR before the LF", ok + "x: y\r\r\n" + empty, .odd(200)),
        AnswerCase("folded field", ok + "x: a\r\n b\r\n" + empty, .odd(200)),
        AnswerCase("folded with a tab, twice", ok + "x: a\r\n\tb\r\n \t c\r\n" + empty, .odd(200)),
        AnswerCase("fold of nothing", ok + "x: a\r\n \r\n" + empty, .odd(200)),
        AnswerCase(
            "folded length",
            ok + "content-length:\r\n 2\r\n\r\nok",
            .odd(200, "ok"),
            libcurl: .fails("it looks at the first line of the field; RFC 9112 section 5.2 joins them")
        ),
        AnswerCase(
            "length that is folded in two",
            ok + "content-length: 1\r\n 2\r\n\r\nok",
            .odd(200, left: 2),
            libcurl: .answers(200, "o", "it looks at the first line of the field; joined it is no number")
        ),
        AnswerCase(
            "folded coding",
            ok + "transfer-encoding:\r\n chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            .odd(200, "ok"),
            libcurl: .fails("it looks at the first line of the field; RFC 9112 section 5.2 joins them")
        ),
        AnswerCase(
            "fold before any field",
            ok + " content-length: 7\r\n" + empty,
            .odd(200),
            libcurl: .fails("it refuses the head; the line is left out, and the status counts")
        ),
        AnswerCase(
            "line without a colon",
            ok + "nonsense\r\n" + empty,
            .odd(200),
            libcurl: .fails("it refuses the head; the line is left out, and the status counts")
        ),
        AnswerCase("field without a name", ok + ": x\r\n" + empty, .odd(200)),
        AnswerCase(
            "blank before the colon",
            ok + "content-length : 2\r\n\r\nok",
            .odd(200, "ok"),
            libcurl: .fails("it takes the field for another; RFC 9112 section 5.1 has the blank removed")
        ),
        AnswerCase(
            "tab before the colon",
            ok + "transfer-encoding\t: chunked\r\n\r\n0\r\n\r\n",
            .odd(200),
            libcurl: .fails("it takes the field for another; RFC 9112 section 5.1 has the blank removed")
        ),
        AnswerCase("blank in a name", ok + "content length: 2\r\n" + empty, .odd(200)),
        AnswerCase("slash in a name", ok + "a/b: 2\r\n" + empty, .odd(200)),
        AnswerCase("letters of another language in a name", ok + "größe: 2\r\n" + empty, .odd(200)),
        AnswerCase("all sorts of characters in a name", ok + "!#$%&'*+-.^_`|~09: 2\r\n" + empty, Outcome(200)),
        AnswerCase("carriage return inside a value", ok + "x: a\rb\r\n" + empty, .odd(200)),
        AnswerCase("a status line hidden behind a carriage return", ok + "x: \rHTTP/1.1 500 X\r\n" + empty, .odd(200)),
        AnswerCase("control characters inside a value", ok + "x: a\u{1}\u{7f}b\r\n" + empty, Outcome(200)),
        AnswerCase("letters of another language in a value", ok + "x: größe\r\n" + empty, Outcome(200)),
        AnswerCase("no blank behind the colon", ok + "x:y\r\n" + empty, Outcome(200)),
        AnswerCase("blanks around the value", ok + "content-length: \t 2 \t \r\n\r\nok", Outcome(200, "ok")),
        AnswerCase("empty value", ok + "x:\r\ny: \r\n" + empty, Outcome(200)),
        AnswerCase("colons in a value", ok + "x: a:b: c\r\n" + empty, Outcome(200)),
        AnswerCase("the same field twice", ok + "x: 1\r\nX: 2\r\n" + empty, Outcome(200)),
        AnswerCase("a hundred fields", ok + String(repeating: "a: b\r\n", count: 99) + empty, Outcome(200)),
        AnswerCase(
            "one field more",
            ok + String(repeating: "a: b\r\n", count: 100) + empty,
            .unreadable(.headTooLarge),
            libcurl: .answers(200, "", "it counts no fields; a head of ours has a hundred lines at most")
        ),
        AnswerCase("NUL in a value", ok + "x: a\0b\r\n" + empty, .unreadable(.nulInHead)),
        AnswerCase("NUL in a name", ok + "x\0y: a\r\n" + empty, .unreadable(.nulInHead)),
        AnswerCase("NUL in a fold", ok + "x: a\r\n \0\r\n" + empty, .unreadable(.nulInHead)),
        AnswerCase("NUL in a line without a colon", ok + "nonse\0nse\r\n" + empty, .unreadable(.nulInHead)),
    ]
}
