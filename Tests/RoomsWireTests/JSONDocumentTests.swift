import RoomsRuntime
import RoomsWire
import Testing

@Suite struct JSONDocumentTests {
    @Test("a document keeps members in order with the place of every key and value")
    func places() throws {
        let text = """
            {
              "rooms": [
                { "room": "order:1042", "to": ["orders"] }
              ],
              "é": 12, "last": null
            }
            """
        let document = try JSONDocument.parse(Array(text.utf8))
        let members = try #require(document.root.members)
        #expect(members.map(\.key) == ["rooms", "é", "last"])
        #expect(members[0].keyPosition == JSONPosition(line: 2, column: 3))
        #expect(members[0].value.position == JSONPosition(line: 2, column: 12))
        let entry = try #require(members[0].value.elements?.first)
        #expect(entry.position == JSONPosition(line: 3, column: 5))
        #expect(String(decoding: entry.raw, as: UTF8.self) == #"{ "room": "order:1042", "to": ["orders"] }"#)
        #expect(entry["room"]?.string == "order:1042")
        #expect(entry["room"]?.position == JSONPosition(line: 3, column: 15))
        #expect(members[1].value.integer(as: Int.self) == 12)
        // columns count bytes: the key é takes two
        #expect(members[2].keyPosition == JSONPosition(line: 5, column: 13))
        #expect(members[2].value.isNull)
        #expect(document.duplicates.isEmpty)
    }

    @Test("kinds carry what stands in the text")
    func kinds() throws {
        let text = #"[{}, [], "a\u00e9\n\ud83d\ude00\ud800", -1.50e+2, true, false, null]"#
        let elements = try #require(JSONDocument.parse(Array(text.utf8)).root.elements)
        guard case .object(let members) = elements[0].kind, case .array(let none) = elements[1].kind,
            case .string(let string) = elements[2].kind, case .number(let number) = elements[3].kind,
            case .bool(true) = elements[4].kind, case .bool(false) = elements[5].kind, case .null = elements[6].kind
        else {
            Issue.record("wrong kinds")
            return
        }
        #expect(members.isEmpty && none.isEmpty)
        #expect(string == "aé\n😀\u{fffd}")
        #expect(number == "-1.50e+2")
    }

    @Test(
        "an escaped surrogate without its other half becomes U+FFFD, and what follows it stays",
        arguments: [
            (#""\ud83d\ude00""#, "😀"), (#""\ud83d""#, "\u{fffd}"), (#""\ud83dx""#, "\u{fffd}x"),
            (#""\ud83d\n""#, "\u{fffd}\n"), (#""\ud83d\u0041""#, "\u{fffd}A"), (#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"), (#""\udbff\udfff\uFFFF""#, "\u{10ffff}\u{ffff}"),
        ]
    )
    func surrogates(text: String, value: ByteString) throws {
        #expect(try JSONDocument.parse(Array(text.utf8)).root.string == value)
    }

    @Test("a repeated key is reported, and the last one is found")
    func duplicates() throws {
        let document = try JSONDocument.parse(Array(#"{"a":1,"b":{"c":1,"\u0063":2},"a":3}"#.utf8))
        #expect(document.duplicates.map(\.key) == ["c", "a"])
        #expect(document.duplicates.map(\.keyPosition.column) == [19, 31])
        #expect(document.root["a"]?.integer(as: Int.self) == 3)
        #expect(document.root["b"]?["c"]?.integer(as: Int.self) == 2)
        #expect(document.root["d"] == nil)
    }

    @Test(
        "integers are read from their digits alone",
        arguments: [
            ("0", 0), ("18446744073709551615", UInt64.max), ("18446744073709551616", nil), ("-1", nil), ("1.0", nil),
            ("1e3", nil), ("-0", 0), ("\"1\"", nil),
        ] as [(String, UInt64?)]
    )
    func integers(text: String, value: UInt64?) throws {
        #expect(try JSONDocument.parse(Array(text.utf8)).root.integer(as: UInt64.self) == value)
    }

    @Test("the smallest integer is read too")
    func smallest() throws {
        let root = try JSONDocument.parse(Array("-9223372036854775808".utf8)).root
        #expect(root.integer(as: Int64.self) == .min)
        #expect(root.integer(as: Int32.self) == nil)
    }

    @Test(
        "a mistake is told with line, column and what would be right",
        arguments: [
            ("", "1:1: there is no value; at least one has to stand here"),
            ("{\"a\":1,}", "1:8: '}' where a key has to stand; take away the comma before it"),
            ("[1,]", "1:4: ']' where a value has to stand; write a value, or take away the comma before it"),
            ("{\n \"a\" 1}", "2:6: '1' behind a key; a colon and a value have to follow"),
            ("{\"a\":1\n\"b\":2}", "2:1: '\"' behind a value; write a comma or } before it"),
            ("[1 2]", "1:4: '2' behind a value; write a comma or ] before it"),
            ("{'a':1}", "1:2: ''' where a key has to stand; keys are written in double quotes"),
            ("['a']", "1:2: ''' where a value has to stand; strings are written in double quotes"),
            ("// x", "1:1: '/' where a value has to stand; JSON has no comments"),
            ("{\r\n  \"a\": [1,\r\n", "3:1: the text ends inside the array that begins at 2:8; close it with ]"),
            ("{} x", "1:4: 'x' behind the value; only one value may stand here"),
            ("[012]", "1:2: a number with a leading zero; write it without"),
            ("[1.]", "1:4: a number without the digits behind the point; write at least one digit"),
            ("[\"ab", "1:2: a string without an end; close it with a double quote"),
            (
                "{\"a\":\"b\nc\"}",
                "1:8: the byte 0x0a inside a string; write it as an escape (\\n for a line end), or close the string before it"
            ),
            ("\u{feff}{}", "1:1: the text begins with a byte order mark; save it as UTF-8 without one"),
        ]
    )
    func mistakes(text: String, message: String) {
        let error = #expect(throws: JSONError.self) { try JSONDocument.parse(Array(text.utf8)) }
        #expect(error?.description == message)
    }

    @Test("depth is bounded, and a deep text within the bound is no trouble")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(repeating: UInt8(ascii: "["), count: depth) + Array(repeating: UInt8(ascii: "]"), count: depth)
        }
        #expect(throws: Never.self) { try JSONDocument.parse(nested(64)) }
        let error = #expect(throws: JSONError.self) { try JSONDocument.parse(nested(65)) }
        #expect(error?.code == .tooDeep)
        #expect(error?.column == 65)
        #expect(throws: Never.self) { try JSONDocument.parse(nested(100_000), maximumDepth: 100_000) }
    }

    @Test("strings of any bytes are taken where UTF-8 is not checked, and kept as they are")
    func anyBytes() throws {
        let text = Array(#"{"a":""#.utf8) + [0xff, 0xc3] + Array(#"","b":1}"#.utf8)
        #expect(throws: JSONError.self) { try JSONDocument.parse(text) }
        let root = try JSONDocument.parse(text, checksUTF8: false).root
        #expect(root["a"]?.string == ByteString([0xff, 0xc3]) && root["b"]?.integer() == 1)
        #expect(throws: JSONError.self) { try JSONDocument.parse(Array(text.dropLast(4)), checksUTF8: false) }
    }
}
