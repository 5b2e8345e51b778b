import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@Suite struct JSONScannerTests {
    struct Verdict: CustomTestStringConvertible {
        var bytes: [UInt8]
        var isValid: Bool

        static func yes(_ text: String) -> Verdict { Verdict(bytes: Array(text.utf8), isValid: true) }
        static func no(_ text: String) -> Verdict { Verdict(bytes: Array(text.utf8), isValid: false) }
        static func no(_ bytes: [UInt8]) -> Verdict { Verdict(bytes: bytes, isValid: false) }

        var testDescription: String { "\(isValid ? "yes" : "no"): \(ByteString(Array(bytes.prefix(40))))" }
    }

    static func nested(_ depth: Int, _ open: String, _ close: String, _ inner: String = "") -> String {
        String(repeating: open, count: depth) + inner + String(repeating: close, count: depth)
    }

    static let verdicts: [Verdict] = [
        // what parsers quarrel about
        .yes(#"{"a":1,"a":2}"#), .yes(#"["\ud800"]"#), .yes(#"["\udc00\ud800"]"#), .yes("1e400"), .yes("-0"),
        .yes("9007199254740993"), .yes("18446744073709551615"), .yes("18446744073709551616"), .yes("1.10"),
        .no("[1,]"), .no("NaN"), .no("[NaN]"), .no("Infinity"), .no("-Infinity"), .no("[012]"),
        .no("\u{feff}{}"), .no([0xff, 0xfe, 0x5b, 0x00, 0x5d, 0x00]), .no([0xfe, 0xff, 0x00, 0x5b, 0x00, 0x5d]),
        .no([0x5b, 0x00, 0x5d, 0x00]),
        // depth
        .yes(nested(512, "[", "]")), .no(nested(513, "[", "]")), .no(nested(100_000, "[", "]")),
        .no(String(repeating: "[", count: 100_000)), .no(String(repeating: "{\"a\":", count: 100_000)),
        .yes(nested(512, "{\"a\":", "}", "1")), .no(nested(513, "{\"a\":", "}", "1")),
        .yes(nested(256, "[{\"a\":", "}]", "1")), .no(nested(256, "[{\"a\":", "}]", "[]")),
        .yes(nested(200, "[", "]", "{\"a\":[]}")), .no(nested(200, "[{\"a\":", "]}")),
        .yes("[" + nested(64, "[", "]") + ",{\"a\":" + nested(65, "[", "]") + "}]"),
        .no(nested(64, "[", "]") + "]"), .no(nested(64, "{\"a\":", "}", "[]]")), .no(nested(64, "[", "]", "{}}")),
        // structure
        .yes("{}"), .yes("[]"), .yes(" \t\r\n{ \"a\" :\n[ 1 , 2 ] , \"b\":{ } } \n"), .yes("[[],{},[[]]]"),
        .yes(#""""#),
        .yes("true"), .yes("false"), .yes("null"), .yes("0"), .yes(#"{"":0}"#), .yes(#"{"\u0000":[]}"#), .yes("[null]"),
        .no(""), .no(" "), .no("{"), .no("["), .no("}"), .no("]"), .no("[}"), .no("{]"), .no("[1}"), .no(#"{"a":1]"#),
        .no("[,]"), .no("[,1]"), .no("[1,,2]"), .no("[1 2]"), .no("[1:2]"), .no("{,}"), .no(#"{"a"}"#), .no(#"{"a":}"#),
        .no(#"{"a":1,}"#), .no(#"{"a":1 "b":2}"#), .no(#"{"a",1}"#), .no("{1:1}"), .no("{a:1}"), .no("{'a':1}"),
        .no(#"{"a":1,,"b":2}"#), .no(#"{"a"::1}"#), .no("{null:1}"), .no("[]]"), .no("{}}"), .no("[] []"), .no("1 2"),
        .no("[1]x"), .no("[1];"), .no("[1]\u{0}"), .no("\u{0}"), .no("/*c*/1"), .no("1//c"), .no("[\u{c}]"),
        .no("[\u{b}1]"), .no("[\u{a0}1]"), .no("\u{2060}[]"), .no("{\"a\":1,"), .no("[1,"), .no("{\"a\":"),
        .no("{\"a\""),
        // words
        .no("tru"), .no("truE"), .no("True"), .no("nul"), .no("nulll"), .no("fals"), .no("[fals]"), .no("undefined"),
        .no("[t]"), .no("tr\u{0}e"),
        // numbers
        .yes("[123]"), .yes("-1"), .yes("0.5"), .yes("-0.0"), .yes("1e5"), .yes("1E+5"), .yes("1e-5"), .yes("0e0"),
        .yes("1.0e00"), .yes("123456789012345678901234567890.1e-999"),
        .no("-"), .no("+1"), .no(".5"), .no("1."), .no("-.5"), .no("1.e5"), .no("1e"), .no("1e+"), .no("1e5.5"),
        .no("00"),
        .no("-01"), .no("0x10"), .no("1_000"), .no("--1"), .no("1-1"), .no("0.1.2"), .no("1e1e1"), .no("[-]"),
        .no("[1.]"), .no("１"), .no("-a"), .no("[0e+-1]"),
        // strings
        .yes(#""\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00""#), .yes("\"\u{7f}é漢😀\u{10ffff}\""), .yes("\"\u{2028}\""),
        .no("\"\n\""), .no("\"\t\""), .no("\"\u{0}\""), .no("\"\u{1f}\""), .no(#""\x41""#), .no(#""\u12""#),
        .no(#""\u12g4""#), .no(#""\U1234""#), .no(#""\""#), .no(#""\\\""#), .no("\""), .no("\"a"), .no("'a'"),
        .no(#""\'""#), .no("\"\\\n\""), .no("[\"a\"b]"), .no("\"\\u"), .no("\"\\u123\""), .no("\"\\"), .no("abc"),
        // UTF-8
        .no([0x22, 0xff, 0x22]), .no([0x22, 0x80, 0x22]), .no([0x22, 0xc0, 0xaf, 0x22]), .no([0x22, 0xc1, 0xbf, 0x22]),
        .no([0x22, 0xe0, 0x80, 0xaf, 0x22]), .no([0x22, 0xe0, 0x9f, 0xbf, 0x22]),
        .no([0x22, 0xf0, 0x8f, 0xbf, 0xbf, 0x22]),
        .no([0x22, 0xed, 0xa0, 0x80, 0x22]), .no([0x22, 0xed, 0xbf, 0xbf, 0x22]),
        .no([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22]), .no([0x22, 0xf5, 0x80, 0x80, 0x80, 0x22]), .no([0x22, 0xc3, 0x22]),
        .no([0x22, 0xe2, 0x82, 0x22]), .no([0x22, 0xf0, 0x9f, 0x98, 0x22]), .no([0x22, 0xc3]), .no([0xc3, 0xa9]),
        .no([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    ]

    @Test("without a look at UTF-8 and depth the verdicts are the same but for these", arguments: verdicts)
    func unchecked(_ verdict: Verdict) {
        let text = String(validating: verdict.bytes, as: UTF8.self)
        let isDeep = verdict.bytes.count > 1000
        guard text != nil, !isDeep else { return }
        #expect(verdict.bytes.withUnsafeBytes { JSONScanner.isValidUnchecked($0) } == verdict.isValid)
    }

    @Test("bytes from 0x80 on stand anywhere in unchecked strings, but nowhere else")
    func uncheckedBytes() {
        for byte in UInt8.min...UInt8.max {
            for length in 0..<20 {
                let padding = [UInt8](repeating: 0x61, count: length)
                let string = [0x22] + padding + [byte, 0x61, 0x22]
                let isValid = byte >= 0x20 && byte != 0x22 && byte != 0x5c
                #expect(string.withUnsafeBytes { JSONScanner.isValidUnchecked($0) } == isValid, "\(byte) \(length)")
            }
            guard byte >= 0x80 else { continue }
            #expect(![0x5b, byte, 0x5d].withUnsafeBytes { JSONScanner.isValidUnchecked($0) })
            #expect(![0x5b, 0x5d, byte].withUnsafeBytes { JSONScanner.isValidUnchecked($0) })
        }
    }

    @Test("unchecked texts are as deep as they like", arguments: [1, 63, 64, 65, 512, 513, 100_000])
    func uncheckedDepth(_ depth: Int) {
        for text in [Self.nested(depth, "[", "]"), Self.nested(depth, #"[{"a":"#, "}]", "1")] {
            let bytes = Array(text.utf8)
            #expect(bytes.withUnsafeBytes { JSONScanner.isValidUnchecked($0) })
            #expect(!bytes.dropLast().withUnsafeBytes { JSONScanner.isValidUnchecked($0) })
            #expect(!(bytes + [0x5d]).withUnsafeBytes { JSONScanner.isValidUnchecked($0) })
        }
    }

    @Test("JSON is what RFC 8259 says, no more and no less", arguments: verdicts)
    func verdict(_ verdict: Verdict) {
        #expect(isValid(verdict.bytes) == verdict.isValid)
        #expect(isDocument(verdict.bytes) == verdict.isValid)
        // With something to skip before and behind, and inside something else.
        let spaced = Array(" \n".utf8) + verdict.bytes + Array("\t ".utf8)
        #expect(isValid(spaced) == verdict.isValid)
    }

    @Test("every byte at every place of a string is judged by itself")
    func places() {
        let guarded = GuardedMemory(capacity: 64)
        for length in 1...19 {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    var text = [UInt8](repeating: UInt8(ascii: "a"), count: length + 2)
                    text[0] = UInt8(ascii: "\"")
                    text[length + 1] = UInt8(ascii: "\"")
                    text[place + 1] = byte
                    let expected =
                        byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
                    // A backslash before the last a or quote is no escape, a quote leaves an a or a quote behind it.
                    guard guarded.withBytes(text, { JSONScanner.isValid($0) }) != expected else { continue }
                    Issue.record("byte \(byte) at \(place) of \(length)")
                }
            }
        }
    }

    @Test("any two bytes side by side are judged as the slow parser does")
    func pairs() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                let text = Array("\"ab".utf8) + [first, second] + Array("n0000\"".utf8)
                guard isValid(text) != isDocument(text) else { continue }
                Issue.record("bytes \(first) \(second)")
            }
        }
    }

    @Test("UTF-8 is what Swift takes for it")
    func unicode() {
        let edges: [UInt8] = [0x00, 0x22, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff]
        for lead in UInt8(0x80)...0xff {
            for second in edges {
                for third in edges {
                    let sequence = [lead, second, third, 0xbf]
                    for count in 1...4 where !sequence[..<count].contains(where: { $0 < 0x20 || $0 == 0x22 }) {
                        let expected = String(validating: sequence[..<count], as: UTF8.self) != nil
                        let text = [0x22, 0x61] + sequence[..<count] + [0x22]
                        #expect(isValid(text) == expected, "\(sequence[..<count])")
                    }
                }
            }
        }
    }

    @Test("a text that is cut anywhere is not JSON, and nothing behind its end is read")
    func cut() {
        let text = Array(#"{"a\u00e9":[1,-2.5e+3,true,false,null,"é漢😀\n"],"bcdefghijkl":{"c":{}}}"#.utf8)
        let guarded = GuardedMemory(capacity: text.count)
        #expect(guarded.withBytes(text) { JSONScanner.isValid($0) })
        for end in 0..<text.count {
            #expect(!guarded.withBytes(text[..<end]) { JSONScanner.isValid($0) }, "\(end)")
        }
    }

    @Test("mutated texts get the same verdict from scanner, parser and envelope, and nothing behind their end is read")
    func mutations() {
        var random = SeededRandom(seed: 8259)
        let guarded = GuardedMemory(capacity: 4096)
        let samples =
            Self.verdicts.filter { $0.bytes.count < 100 }.map(\.bytes) + EventEnvelopeTests.rows.map(\.payload)
        var valid = 0
        for _ in 0..<20_000 {
            let text = random.mutated(samples[Int.random(in: 0..<samples.count, using: &random)])
            let isValid = guarded.withBytes(text) { JSONScanner.isValid($0) }
            let envelope = guarded.withBytes(text) { EventEnvelope.read(payload: $0, tagEvent: nil, tagAt: nil) }
            if isValid { valid += 1 }
            #expect(isDocument(text) == isValid, "\(text)")
            #expect((envelope.content != .binary) == isValid, "\(text)")
        }
        #expect(valid > 1000)
    }

    private func isValid(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { JSONScanner.isValid($0) } }

    private func isDocument(_ bytes: [UInt8]) -> Bool {
        (try? JSONDocument.parse(bytes, maximumDepth: JSONScanner.maximumDepth)) != nil
    }
}
