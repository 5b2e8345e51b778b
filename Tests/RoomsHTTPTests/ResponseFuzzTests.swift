import BridgeTestSupport
import RoomsHTTP
import RoomsRuntime
import Testing

/// The decoder against bytes that nobody thought of.
@Suite(.timeLimit(.minutes(2))) struct ResponseFuzzTests {
    @Test(
        "an answer that was damaged is the same in whatever pieces it comes, and never more than it may be",
        arguments: 1...8 as ClosedRange<UInt64>
    )
    func survivesDamage(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let limits = ResponseLimits(lineBytes: 200, headBytes: 500, headerLines: 20, interimAnswers: 4, bodyBytes: 40)
        for _ in 0..<4_000 {
            guard let sample = AnswerCase.table.randomElement(using: &random) else { return }
            let other = AnswerCase.table.randomElement(using: &random)?.bytes ?? []
            var bytes = random.mutated(sample.bytes)
            if random.one(in: 3) { bytes += other }
            let closes = Bool.random(using: &random)
            let whole = Outcome(of: [bytes[...]], closes: closes, limits: limits)
            let pieces = Outcome(of: random.pieces(of: bytes[...]), closes: closes, limits: limits)
            #expect(pieces == whole, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
            #expect(whole.body.utf8.count <= 3 * limits.bodyBytes)
            #expect(!whole.isReusable || whole.state == .complete && !closes)
            if let status = whole.status { #expect(0...999 ~= status && !(100...199 ~= status)) }
            if whole.state == .head { #expect(whole.status == nil) }
        }
    }

    @Test(
        "answers that were made at random are read as they were made, one behind the other",
        arguments: 1...8 as ClosedRange<UInt64>
    )
    func readsRandomAnswers(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<300 {
            let answers = (0..<Int.random(in: 1...6, using: &random)).map { _ in RandomAnswer(&random) }
            var decoder = ResponseDecoder()
            var seen: [String] = []
            for piece in random.pieces(of: answers.flatMap(\.bytes)[...]) {
                var rest = piece
                while !rest.isEmpty {
                    rest = rest.dropFirst(rest.withUnsafeBytes { decoder.decode($0) })
                    guard decoder.state == .complete, decoder.isReusable else { break }
                    seen.append("\(decoder.status ?? 0) \(decoder.body) \(decoder.head?.count ?? -1)")
                    decoder.reset()
                }
                if !rest.isEmpty { break }
            }
            #expect(seen == answers.map { "\($0.status) \($0.body) \($0.fields)" })
            #expect(!decoder.hasBegun)
        }
    }
}

/// An answer as a server may send it that follows the rules.
private struct RandomAnswer {
    var status: Int
    var body: [UInt8] = []
    var fields = 0
    var bytes: [UInt8] = []

    init(_ random: inout SeededRandom) {
        for _ in 0..<(random.one(in: 4) ? Int.random(in: 1...3, using: &random) : 0) {
            bytes += Array("HTTP/1.1 \([100, 102, 103].randomElement(using: &random) ?? 100) X\r\n".utf8)
            if Bool.random(using: &random) { bytes += Array("content-length: 7\r\n".utf8) }
            bytes += [13, 10]
        }
        status = [200, 201, 202, 204, 304, 400, 404, 413, 429, 500, 503].randomElement(using: &random) ?? 200
        bytes += Array(
            "HTTP/1.1 \(status)\(["", " ", " OK", " What is it"].randomElement(using: &random) ?? "")\r\n".utf8
        )
        for number in 0..<Int.random(in: 0...5, using: &random) {
            let blanks = ["", " ", " \t "].randomElement(using: &random) ?? ""
            add(
                "X-\(number):\(blanks)\(String(repeating: "v", count: Int.random(in: 0...40, using: &random)))\(blanks)"
            )
        }
        guard status != 204, status != 304 else {
            bytes += [13, 10]
            return
        }
        body = (0..<Int.random(in: 0...200, using: &random)).map { _ in .random(in: 0...255, using: &random) }
        guard Bool.random(using: &random) else {
            add("Content-Length: \(body.count)")
            bytes += [13, 10] + body
            return
        }
        add("Transfer-Encoding: chunked")
        bytes += [13, 10]
        for chunk in random.pieces(of: body[...]) where !chunk.isEmpty {
            let size = String(chunk.count, radix: 16, uppercase: Bool.random(using: &random))
            let padding = String(repeating: "0", count: Int.random(in: 0...3, using: &random))
            let more = ["", ";a", ";a=\"b\"", " ;x"].randomElement(using: &random) ?? ""
            bytes += Array("\(padding)\(size)\(more)\r\n".utf8) + chunk + [13, 10]
        }
        bytes += Array("0\r\n\(random.one(in: 3) ? "x-sum: 7\r\n" : "")\r\n".utf8)
    }

    private mutating func add(_ line: String) {
        fields += 1
        bytes += Array("\(line)\r\n".utf8)
    }
}

extension SeededRandom {
    /// The same bytes in pieces, some of them empty.
    fileprivate mutating func pieces(of bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var rest = bytes
        var pieces: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            let count = Int.random(in: 0...min(rest.count, one(in: 3) ? 3 : 60), using: &self)
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
