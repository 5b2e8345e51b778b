import RoomsHTTP

/// Every way in which a body can end, and in which it does not.
extension AnswerCase {
    static let lengths = [
        AnswerCase("length 5", ok + "content-length: 5\r\n\r\nhello", Outcome(200, "hello")),
        AnswerCase("length 5, more comes", ok + "Content-Length:5\r\n\r\nhelloHTTP", Outcome(200, "hello", left: 4)),
        AnswerCase("length 0, a body comes", ok + empty + "hello", Outcome(200, left: 5)),
        AnswerCase(
            "length 5, two answers",
            ok + "content-length: 5\r\n\r\nhello" + ok + empty,
            Outcome(200, "hello", left: 38)
        ),
        AnswerCase("length with zeros in front", ok + "content-length: 0005\r\n\r\nhello", Outcome(200, "hello")),
        AnswerCase("a failure with a page", "HTTP/1.1 500 X\r\ncontent-length: 4\r\n\r\noops", Outcome(500, "oops")),
        AnswerCase("205 without a body", "HTTP/1.1 205 X\r\n" + empty, Outcome(205)),
        AnswerCase("205 with a body", "HTTP/1.1 205 X\r\ncontent-length: 2\r\n\r\nok", Outcome(205, "ok")),
        AnswerCase("the same length twice", ok + "content-length: 2\r\ncontent-length: 2\r\n\r\nok", .odd(200, "ok")),
        AnswerCase("the same length in a list", ok + "content-length: 2, 2\r\n\r\nok", .odd(200, "ok")),
        AnswerCase("a list of one length", ok + "content-length: 2,\r\n\r\nok", .odd(200, "ok")),
        AnswerCase(
            "two lengths",
            ok + "content-length: 2\r\ncontent-length: 3\r\n\r\nokk",
            .odd(200, left: 3),
            libcurl: .answers(
                200,
                "okk",
                "it believes the last; where the body ends cannot be known, and ours is not read"
            )
        ),
        AnswerCase(
            "two lengths in a list",
            ok + "content-length: 2, 3\r\n\r\nokk",
            .odd(200, left: 3),
            libcurl: .answers(
                200,
                "ok",
                "it believes the first; where the body ends cannot be known, and ours is not read"
            )
        ),
        AnswerCase(
            "a length that is no number",
            ok + "content-length: two\r\n\r\nok",
            .odd(200, left: 2),
            libcurl: .fails("it refuses the answer; the status counts, and the body is not read")
        ),
        AnswerCase(
            "a length, then one that is none",
            ok + "content-length: 2\r\ncontent-length: x\r\n\r\nok",
            .odd(200, left: 2),
            libcurl: .fails("it refuses the answer; the status counts, and the body is not read")
        ),
        AnswerCase(
            "a negative length",
            ok + "content-length: -2\r\n\r\nok",
            .odd(200, left: 2),
            libcurl: .fails("it refuses the answer; the status counts, and the body is not read")
        ),
        AnswerCase(
            "a length with a plus",
            ok + "content-length: +2\r\n\r\nok",
            .odd(200, left: 2),
            libcurl: .answers(200, "ok", "it reads numbers as C does; a length is digits alone")
        ),
        AnswerCase("a length in hex", ok + "content-length: 0x2\r\n\r\nok", .odd(200, left: 2)),
        AnswerCase(
            "a length with a point",
            ok + "content-length: 2.0\r\n\r\nok",
            .odd(200, left: 2),
            libcurl: .answers(200, "ok", "it stops at the first character that is no digit; a length is digits alone")
        ),
        AnswerCase(
            "a length with a semicolon",
            ok + "content-length: 2;\r\n\r\nok",
            .odd(200, left: 2),
            libcurl: .answers(200, "ok", "it stops at the first character that is no digit; a length is digits alone")
        ),
        AnswerCase(
            "a length with a blank in it",
            ok + "content-length: 1 2\r\n\r\nok",
            .odd(200, left: 2),
            libcurl: .answers(200, "o", "it stops at the first character that is no digit; a length is digits alone")
        ),
        AnswerCase(
            "an empty length",
            ok + "content-length:\r\n\r\n",
            .odd(200),
            libcurl: .fails("it refuses the answer; the status counts, and no body is read")
        ),
        AnswerCase(
            "a length beyond all",
            ok + "content-length: 99999999999999999999999\r\n\r\n",
            .odd(200),
            libcurl: .fails("it finds the body too large for its limit; the status counts")
        ),
        AnswerCase(
            "2^64",
            ok + "content-length: 18446744073709551616\r\n\r\n",
            .odd(200),
            libcurl: .fails("it finds the body too large for its limit; the status counts")
        ),
        AnswerCase(
            "2^64 - 1, closed",
            ok + "content-length: 18446744073709551615\r\n\r\nhello",
            closes: true,
            .broken(200, "hello", .closedInBody)
        ),
        AnswerCase(
            "2^63 - 1, open",
            ok + "content-length: 9223372036854775807\r\n\r\nhello",
            Outcome(200, "hello", isReusable: false, .body)
        ),
        AnswerCase(
            "a body that is late",
            ok + "content-length: 9\r\n\r\nhello",
            Outcome(200, "hello", isReusable: false, .body)
        ),
    ]

    static let endings = [
        AnswerCase("204", "HTTP/1.1 204 No\r\n\r\n", Outcome(204)),
        AnswerCase("204 with what follows", "HTTP/1.1 204 No\r\n\r\nxyz", Outcome(204, left: 3)),
        AnswerCase("204 with a length of 0", "HTTP/1.1 204 No\r\n" + empty, Outcome(204)),
        AnswerCase(
            "204 with a length and a body",
            "HTTP/1.1 204 No\r\ncontent-length: 3\r\n\r\nxyz",
            .odd(204, left: 3)
        ),
        AnswerCase(
            "204 with chunks",
            "HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            .odd(204, left: 5)
        ),
        AnswerCase("304", "HTTP/1.1 304 No\r\n\r\n", Outcome(304)),
        AnswerCase("304 with a length", "HTTP/1.1 304 No\r\ncontent-length: 5\r\n\r\n", .odd(304)),
        AnswerCase("304 with a body", "HTTP/1.1 304 No\r\n\r\nhello", closes: true, .odd(304, left: 5)),
        AnswerCase("connection close", ok + "connection: x, Close\r\n" + empty, .odd(200)),
        AnswerCase(
            "the second connection field closes",
            ok + "connection: x\r\nConnection: close\r\n" + empty,
            .odd(200)
        ),
        AnswerCase("close in a word", ok + "connection: closed\r\n" + empty, Outcome(200)),
        AnswerCase("keep-alive", ok + "connection: Keep-Alive\r\nkeep-alive: timeout=5\r\n" + empty, Outcome(200)),
        AnswerCase("the connection of another hop", ok + "proxy-connection: close\r\n" + empty, Outcome(200)),
        AnswerCase("until close", ok + "\r\nall the rest", closes: true, .odd(200, "all the rest")),
        AnswerCase("until close, nothing", ok + "\r\n", closes: true, .odd(200)),
        AnswerCase("until close, still open", ok + "\r\nrest", Outcome(200, "rest", isReusable: false, .body)),
        AnswerCase("HTTP/1.0 until close", "HTTP/1.0 201 X\r\n\r\nrest", closes: true, .odd(201, "rest")),
        AnswerCase("a failure until close", "HTTP/1.1 404 X\r\nserver: x\r\n\r\n<p>", closes: true, .odd(404, "<p>")),
        AnswerCase(
            "a redirect until close",
            "HTTP/1.1 302 X\r\nlocation: http://169.254.169.254/\r\n\r\n",
            closes: true,
            .odd(302)
        ),
        AnswerCase("closed behind a whole answer", ok + empty, closes: true, .odd(200)),
        AnswerCase("closed behind a whole body", ok + "content-length: 2\r\n\r\nok", closes: true, .odd(200, "ok")),
        AnswerCase("closed behind the last chunk", chunk + "2\r\nok\r\n0\r\n\r\n", closes: true, .odd(200, "ok")),
        AnswerCase("closed behind a 204", "HTTP/1.1 204 No\r\n\r\n", closes: true, .odd(204)),
    ]

    static let chunked = [
        AnswerCase("chunks", chunk + "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", Outcome(200, "hello!")),
        AnswerCase("no chunk but the last", chunk + "0\r\n\r\n", Outcome(200)),
        AnswerCase("chunk sizes in hex", chunk + "0A\r\n0123456789\r\n00\r\n\r\n", Outcome(200, "0123456789")),
        AnswerCase("chunk sizes in small letters", chunk + "a\r\n0123456789\r\n0\r\n\r\n", Outcome(200, "0123456789")),
        AnswerCase("fifteen digits", chunk + "000000000000002\r\nok\r\n0\r\n\r\n", Outcome(200, "ok")),
        AnswerCase(
            "seventeen digits",
            chunk + "00000000000000002\r\nok\r\n0\r\n\r\n",
            .broken(200, "", .malformedBody)
        ),
        AnswerCase("chunk extensions", chunk + "2;a=b;c=\"d\"\r\nok\r\n0 ;x\r\n\r\n", Outcome(200, "ok")),
        AnswerCase("an empty chunk extension", chunk + "2;\r\nok\r\n0;\r\n\r\n", Outcome(200, "ok")),
        AnswerCase("blanks behind the size", chunk + "2 \t\r\nok\r\n0  \r\n\r\n", Outcome(200, "ok")),
        AnswerCase("trailers", chunk + "2\r\nok\r\n0\r\nx-sum: 1\r\nx-b: 2\r\n\r\nmore", Outcome(200, "ok", left: 4)),
        AnswerCase("a length in the trailer", chunk + "2\r\nok\r\n0\r\ncontent-length: 9\r\n\r\n", Outcome(200, "ok")),
        AnswerCase("a close in the trailer", chunk + "0\r\nconnection: close\r\n\r\n", Outcome(200)),
        AnswerCase("a folded trailer", chunk + "0\r\nx: a\r\n b\r\n\r\n", Outcome(200)),
        AnswerCase(
            "a trailer without a colon",
            chunk + "0\r\nnonsense\r\n\r\n",
            Outcome(200),
            libcurl: .fails("it refuses the trailer; nothing of a trailer is used here")
        ),
        AnswerCase(
            "a status line in the trailer",
            chunk + "0\r\nHTTP/1.1 500 X\r\n\r\n",
            Outcome(200),
            libcurl: .fails("it refuses the trailer; nothing of a trailer is used here")
        ),
        AnswerCase("line ends inside a chunk", chunk + "4\r\n\r\n\r\n\r\n0\r\n\r\n", Outcome(200, "\r\n\r\n")),
        AnswerCase(
            "an answer inside a chunk",
            chunk + "26\r\n" + ok + empty + "\r\n0\r\n\r\n",
            Outcome(200, ok + empty)
        ),
        AnswerCase("two last chunks", chunk + "0\r\n\r\n0\r\n\r\n", Outcome(200, left: 5)),
        AnswerCase("bare LF in chunks", chunk + "2\nok\n0\n\n", .odd(200, "ok")),
        AnswerCase("bare LF behind a chunk", chunk + "2\r\nok\n0\r\n\r\n", .odd(200, "ok")),
        AnswerCase("bare LF in the trailer", chunk + "0\r\nx: y\n\r\n", .odd(200)),
        AnswerCase(
            "HTTP/1.0 in chunks",
            "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            .odd(200, "ok")
        ),
        AnswerCase(
            "a failure in chunks",
            "HTTP/1.1 503 X\r\ntransfer-encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n",
            Outcome(503, "no")
        ),
    ]

    static let codings = [
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
        AnswerCase(
            "chunked twice",
            ok + "transfer-encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            .odd(200, "ok")
        ),
        AnswerCase(
            "chunked in two fields",
            ok + "transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            .odd(200, "ok")
        ),
        AnswerCase("gzip, chunked", ok + "transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", .odd(200)),
        AnswerCase(
            "gzip alone",
            ok + "transfer-encoding: gzip\r\n\r\nxx",
            closes: true,
            .odd(200, "xx"),
            libcurl: .fails("it refuses codings that it was not asked to undo; the body stays packed here")
        ),
        AnswerCase(
            "chunked, gzip",
            ok + "transfer-encoding: chunked, gzip\r\n\r\n2\r\nok\r\n",
            closes: true,
            .odd(200, "2\r\nok\r\n"),
            libcurl: .fails("it refuses codings that it was not asked to undo; the body stays packed here")
        ),
        AnswerCase(
            "identity",
            ok + "transfer-encoding: identity\r\n" + empty,
            .odd(200),
            libcurl: .fails("it then waits for the end of the connection; identity is no coding, and the length counts")
        ),
        AnswerCase(
            "identity, chunked",
            ok + "transfer-encoding: identity, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            .odd(200, "ok")
        ),
        AnswerCase(
            "no coding",
            ok + "transfer-encoding:\r\n" + empty,
            .odd(200),
            libcurl: .fails("it then waits for the end of the connection; there is no coding, and the length counts")
        ),
        AnswerCase(
            "a coding that is like it",
            ok + "transfer-encoding: xchunked\r\n\r\nxx",
            closes: true,
            .odd(200, "xx"),
            libcurl: .fails("it refuses codings that it does not know; the body stays as it is")
        ),
        AnswerCase(
            "chunked with a parameter",
            ok + "transfer-encoding: chunked;q=1\r\n\r\nxx",
            closes: true,
            .odd(200, "xx"),
            libcurl: .fails("it refuses codings that it does not know; the body stays as it is")
        ),
        AnswerCase("a packed body", ok + "content-encoding: gzip\r\ncontent-length: 2\r\n\r\nxx", Outcome(200, "xx")),
        AnswerCase(
            "a body packed twice",
            ok + "content-encoding: gzip, br\r\ncontent-length: 2\r\n\r\nxx",
            Outcome(200, "xx")
        ),
    ]

    static let broken = [
        AnswerCase("nothing", "", closes: true, .unreadable(.closedBeforeAnswer)),
        AnswerCase("nothing yet", "", Outcome(nil, isReusable: false, .head)),
        AnswerCase("half a name", "HTT", closes: true, .unreadable(.closedInHead)),
        AnswerCase("half a status line", "HTTP/1.1 20", closes: true, .unreadable(.closedInHead)),
        AnswerCase("a status line without its end", "HTTP/1.1 200 OK", closes: true, .unreadable(.closedInHead)),
        AnswerCase("only a status line", ok, closes: true, .unreadable(.closedInHead)),
        AnswerCase("half a field", ok + "content-le", closes: true, .unreadable(.closedInHead)),
        AnswerCase("head without its end", ok + "content-length: 0\r\n", closes: true, .unreadable(.closedInHead)),
        AnswerCase(
            "head without its last byte",
            ok + "content-length: 0\r\n\r",
            closes: true,
            .unreadable(.closedInHead)
        ),
        AnswerCase(
            "body cut off",
            ok + "content-length: 9\r\n\r\nhello",
            closes: true,
            .broken(200, "hello", .closedInBody)
        ),
        AnswerCase("body not begun", ok + "content-length: 9\r\n\r\n", closes: true, .broken(200, "", .closedInBody)),
        AnswerCase("no chunk", chunk, closes: true, .broken(200, "", .closedInBody)),
        AnswerCase("half a chunk size", chunk + "1", closes: true, .broken(200, "", .closedInBody)),
        AnswerCase("chunk cut off", chunk + "9\r\nhello", closes: true, .broken(200, "hello", .closedInBody)),
        AnswerCase("chunk without its line end", chunk + "2\r\nok", closes: true, .broken(200, "ok", .closedInBody)),
        AnswerCase("no last chunk", chunk + "2\r\nok\r\n", closes: true, .broken(200, "ok", .closedInBody)),
        AnswerCase(
            "last chunk without its end",
            chunk + "2\r\nok\r\n0\r\n",
            closes: true,
            .broken(200, "ok", .closedInBody)
        ),
        AnswerCase("trailer without its end", chunk + "0\r\nx: y\r\n", closes: true, .broken(200, "", .closedInBody)),
        AnswerCase("chunk size that is none", chunk + "xyz\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("empty chunk size", chunk + "\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("blank before the chunk size", chunk + " 2\r\nok\r\n0\r\n\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("chunk size with 0x", chunk + "0x2\r\nok\r\n0\r\n\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("negative chunk size", chunk + "-1\r\n", .broken(200, "", .malformedBody)),
        AnswerCase(
            "chunk extension without a semicolon",
            chunk + "2 x\r\nok\r\n0\r\n\r\n",
            .broken(200, "", .malformedBody),
            libcurl: .answers(200, "ok", "it looks for no more than the size; two readers could see two sizes")
        ),
        AnswerCase("chunk size beyond all", chunk + "ffffffffffffffff\r\n", .broken(200, "", .malformedBody)),
        AnswerCase("chunk longer than it says", chunk + "2\r\nokk\r\n0\r\n\r\n", .broken(200, "ok", .malformedBody)),
        AnswerCase("chunk shorter than it says", chunk + "3\r\nok\r\n0\r\n\r\n", .odd(200, "ok\r")),
        AnswerCase("no line end behind a chunk", chunk + "2\r\nok0\r\n\r\n", .broken(200, "ok", .malformedBody)),
    ]
}
