import BridgeTestSupport
import RoomsHTTP
import RoomsRuntime
import Testing

@Suite struct ResponseDecoderTests {
    @Test("each answer is read as the table says, however it is cut into two reads", arguments: AnswerCase.table)
    func readsAnswer(_ answer: AnswerCase) {
        let bytes = answer.bytes[...]
        let whole = Outcome(of: [bytes], closes: answer.closes)
        #expect(whole == answer.outcome, "\(answer.name)")
        let cuts = (0...bytes.count).filter { cut in
            Outcome(of: [bytes[..<cut], bytes[cut...]], closes: answer.closes) != whole
        }
        #expect(cuts == [], "\(answer.name), cut there, is something else")
        #expect(Outcome(of: chunks(of: bytes, 1), closes: answer.closes) == whole, "\(answer.name), byte by byte")
    }

    @Test("the table has each answer once, and enough of them")
    func countsTable() {
        #expect(AnswerCase.table.count >= 120)
        #expect(Set(AnswerCase.table.map(\.name)).count == AnswerCase.table.count)
        #expect(Set(AnswerCase.table.map { "\($0.closes)\($0.text)" }).count == AnswerCase.table.count)
    }

    @Test("the same decoder reads one answer after the other")
    func readsPipelinedAnswers() {
        var decoder = ResponseDecoder()
        let stream = Array(
            "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 500 X\r\ncontent-length: 0\r\n\r\n"
                .utf8
        )
        var index = 0
        var seen: [String] = []
        while index < stream.count {
            index += stream[index...].withUnsafeBytes { decoder.decode($0) }
            guard decoder.state == .complete else { break }
            seen.append("\(decoder.status ?? 0):\(String(decoding: decoder.body, as: UTF8.self))")
            #expect(decoder.isReusable)
            decoder.reset()
        }
        #expect(seen == ["204:", "200:ok", "500:"])
        #expect(!decoder.hasBegun)
    }

    @Test("header names come in lower case, values without the blanks around them")
    func givesHeaders() throws {
        var decoder = ResponseDecoder()
        let bytes = Array("HTTP/1.1 429 \r\nRetry-After:\t 7 \r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n".utf8)
        #expect(bytes.withUnsafeBytes { decoder.decode($0) } == bytes.count)
        let head = try #require(decoder.head)
        #expect(head.status == 429)
        #expect(head.first("retry-after") == "7")
        #expect(head.first("x-a") == "1")
        #expect(head.first("Retry-After") == nil)
        #expect(
            head.headers.map { "\($0.name)=\($0.value)" } == ["retry-after=7", "x-a=1", "x-a=2", "content-length=0"]
        )
    }

    @Test("a folded value is joined with a space")
    func joinsFoldedLines() {
        var decoder = ResponseDecoder()
        let bytes = Array("HTTP/1.1 200 OK\r\nx-long: one\r\n\t two\r\ncontent-length: 0\r\n\r\n".utf8)
        _ = bytes.withUnsafeBytes { decoder.decode($0) }
        #expect(decoder.head?.first("x-long") == "one two")
    }

    @Test("limits hold for lines, heads, header counts, interim answers and bodies", arguments: [1, 7, 4096])
    func holdsLimits(step: Int) {
        let limits = ResponseLimits(lineBytes: 64, headBytes: 200, headerLines: 5, interimAnswers: 2, bodyBytes: 10)
        let long = String(repeating: "a", count: 70)
        let status = "HTTP/1.1 200 OK\r\n"
        let expected: [(String, ResponseError.Code)] = [
            ("HTTP/1.1 200 \(long)", .headTooLarge),
            (status + "x: \(long)\r\n", .headTooLarge),
            (status + String(repeating: "abc: \(String(repeating: "b", count: 50))\r\n", count: 4), .headTooLarge),
            (status + String(repeating: "a: b\r\n", count: 6), .headTooLarge),
            (String(repeating: "HTTP/1.1 100 C\r\n\r\n", count: 3), .tooManyInterimAnswers),
            (status + "content-length: 11\r\n\r\n01234567890", .bodyTooLarge),
            (status + "\r\n01234567890", .bodyTooLarge),
            (status + "transfer-encoding: chunked\r\n\r\n6\r\n012345\r\n6\r\n012345\r\n", .bodyTooLarge),
            (status + "transfer-encoding: chunked\r\n\r\n1;\(long)\r\n", .malformedBody),
            (
                status + "transfer-encoding: chunked\r\n\r\n"
                    + String(repeating: "1;\(long.prefix(50))\r\na\r\n", count: 5), .malformedBody
            ),
            (
                status + "transfer-encoding: chunked\r\n\r\n0\r\n"
                    + String(repeating: "\(long.prefix(50))\r\n", count: 5), .malformedBody
            ),
        ]
        for (text, code) in expected {
            let result = Outcome(of: chunks(of: Array(text.utf8)[...], step), closes: false, limits: limits)
            #expect(result.state == .failed(code), "\(text)")
        }
        let fitting = Outcome(
            of: chunks(of: Array((status + "content-length: 10\r\n\r\n0123456789").utf8)[...], step),
            closes: false,
            limits: limits
        )
        #expect(fitting == Outcome(200, "0123456789"))
    }

    @Test("a body that breaks off leaves the head in place")
    func keepsHeadOfBrokenBody() {
        var decoder = ResponseDecoder()
        let bytes = Array("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc".utf8)
        _ = bytes.withUnsafeBytes { decoder.decode($0) }
        #expect(decoder.state == .body)
        decoder.peerClosed()
        #expect(decoder.state == .failed(ResponseError(code: .closedInBody)))
        #expect(decoder.status == 200)
        #expect(decoder.body == Array("abc".utf8))
        #expect(!decoder.isReusable)
    }

    @Test("what follows a switch of protocols is not taken")
    func stopsBehindUpgrade() {
        var decoder = ResponseDecoder(acceptsUpgrade: true)
        let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n"
        let bytes = Array((head + "\u{1}\u{2}").utf8)
        #expect(bytes.withUnsafeBytes { decoder.decode($0) } == head.utf8.count)
        #expect(decoder.state == .complete)
        #expect(decoder.head?.status == 101)
        #expect(decoder.head?.first("upgrade") == "websocket")
    }
}

private func chunks(of bytes: ArraySlice<UInt8>, _ step: Int) -> [ArraySlice<UInt8>] {
    stride(from: 0, to: bytes.count, by: step).map { bytes[$0..<min($0 + step, bytes.count)] }
}
