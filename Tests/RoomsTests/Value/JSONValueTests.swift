import Rooms
import Testing

@Suite struct JSONValueTests {
    /// One of each kind, and which accessors give something.
    static let kinds: [(value: JSONValue, accessors: Set<String>)] = [
        (.null, ["isNull"]), (true, ["bool"]), (false, ["bool"]), (0, ["number", "digits", "integer"]),
        (1.5, ["number", "digits"]), ("", ["string", "data"]), ("x!", ["string"]), ([], ["array"]), ([:], ["object"]),
        (JSONValue(data: []), ["data"]), (JSONValue(data: [0xff]), ["data"]),
    ]

    @Test("each accessor answers for its own kind alone", arguments: kinds)
    func accessors(value: JSONValue, expected: Set<String>) {
        var found: Set<String> = []
        if value.isNull { found.insert("isNull") }
        if value.bool != nil { found.insert("bool") }
        if value.number != nil { found.insert("number") }
        if value.digits != nil { found.insert("digits") }
        if value.integer(as: Int.self) != nil { found.insert("integer") }
        if value.string != nil { found.insert("string") }
        if value.data != nil { found.insert("data") }
        if value.array != nil { found.insert("array") }
        if value.object != nil { found.insert("object") }
        #expect(found == expected)
    }

    @Test("literals make the values that they look like")
    func literals() throws {
        let value: JSONValue = [
            "null": nil, "yes": true, "no": false, "int": -7, "float": 0.1, "whole": 3.0, "text": "x",
            "list": [1, [], [:]],
            "max": 18_446_744_073_709_551_615, "min": -9_223_372_036_854_775_808,
            "more": 123_456_789_012_345_678_901_234,
            "less": -170_141_183_460_469_231_731_687_303_715_884_105_729,
        ]
        let text =
            #"{"null":null,"yes":true,"no":false,"int":-7,"float":0.1,"whole":3,"text":"x","list":[1,[],{}],"#
            + #""max":18446744073709551615,"min":-9223372036854775808,"more":123456789012345678901234,"#
            + #""less":-170141183460469231731687303715884105729}"#
        #expect(value.description == text)
        #expect(try JSONValue(json: text) == value)
    }

    @Test("subscripts find members and elements, or nil; a member that is null is there")
    func subscripts() {
        let value: JSONValue = ["a": ["b": [10, 20]], "n": nil]
        #expect(value["a"]?["b"]?[1]?.number == 20)
        #expect(value["a"]?["b"]?[2] == nil)
        #expect(value["a"]?["b"]?[-1] == nil)
        #expect(value["a"]?["b"]?[Int.min] == nil)
        #expect(value["x"] == nil)
        #expect(value["n"] != nil)
        #expect(value["n"]?.isNull == true)
        #expect(value[0] == nil)
        #expect(value["a"]?["b"]?["0"] == nil)
        #expect(JSONValue("x")[0] == nil)
        #expect(JSONValue.null["x"] == nil)
    }

    @Test("nil as a value is null, and as an optional value nothing")
    func nilLiteral() {
        let value: JSONValue = nil
        #expect(value.isNull)
        let nothing: JSONValue? = nil
        #expect(nothing == nil)
        let null: JSONValue? = JSONValue.null
        #expect(null != nil)
    }

    @Test(
        "a Double is written with the fewest digits that give it back; what JSON cannot write is null",
        arguments: [
            (0.1, "0.1"), (1, "1"), (-0.0, "-0"), (1e21, "1e+21"), (Double.leastNonzeroMagnitude, "5e-324"),
            (1.7976931348623157e308, nil),
            (.nan, "null"), (.infinity, "null"), (-.infinity, "null"), (100, "100"), (9_007_199_254_740_992, nil),
        ] as [(Double, String?)]
    )
    func doubles(number: Double, text: String?) throws {
        let value = JSONValue(number)
        if let text { #expect(value.description == text) }
        guard number.isFinite else { return }
        #expect(value.number?.bitPattern == number.bitPattern)
        #expect(try JSONValue(json: value.json).number?.bitPattern == number.bitPattern)
    }

    @Test(
        "data are the bytes of a base64 string in either alphabet, padded or not",
        arguments: [
            ("", []), ("AA==", [0]), ("AA", [0]), ("+/8=", [0xfb, 0xff]), ("-_8", [0xfb, 0xff]),
            ("-_8=", [0xfb, 0xff]),
            ("+_8=", nil), ("AA=", nil), ("A", nil), ("AB==", nil), (" AA==", nil), ("AA==\n", nil), ("é", nil),
            ("====", nil),
        ] as [(String, [UInt8]?)]
    )
    func base64(text: String, bytes: [UInt8]?) {
        #expect(JSONValue(text).data == bytes)
    }

    @Test("a binary value is written as its base64, and differs from that string")
    func binary() throws {
        let value = JSONValue(data: [0xfb, 0xff, 0x00])
        #expect(value.description == #""+/8A""#)
        #expect(value != JSONValue("+/8A"))
        #expect(value == JSONValue(data: [0xfb, 0xff, 0x00]))
        let read = try JSONValue(json: value.json)
        #expect(read.string == "+/8A" && read.data == value.data)
        #expect((["x": value] as JSONValue).description == #"{"x":"+/8A"}"#)
    }

    /// The digits, their integer, and their Double.
    static let numbers: [(digits: String, integer: Int?, number: Double?)] = [
        ("0", 0, 0), ("-0", 0, -0.0), ("9223372036854775807", .max, 0x1p63),
        ("-9223372036854775808", .min, -0x1p63),
        ("9223372036854775808", nil, 0x1p63),
        ("12345678901234567890", nil, 12_345_678_901_234_567_168), ("1e400", nil, nil), ("-1e400", nil, nil),
        ("1e-400", nil, 0), ("0.1", nil, 0.1), ("1.0", 1, 1), ("1.10", nil, 1.1), ("1e3", 1_000, 1_000),
        ("10E-1", 1, 1), ("1.5e1", 15, 15), ("1.5e0", nil, 1.5), ("120e-2", nil, 1.2), ("-1200e-2", -12, -12),
        ("0e99999999999999999999", 0, 0), ("1e99999999999999999999", nil, nil), ("1e-99999999999999999999", nil, 0),
        ("0.000", 0, 0), ("1e18", 1_000_000_000_000_000_000, 1e18), ("1e19", nil, 1e19),
        ("1e4611686018427387903", nil, nil),
    ]

    @Test("a number keeps its digits, and gives its integer and its Double where they exist", arguments: numbers)
    func exactNumbers(digits: String, integer: Int?, number: Double?) throws {
        for value in [try JSONValue(json: digits), try #require(JSONValue(digits: digits))] {
            #expect(value.digits == digits)
            #expect(value.description == digits)
            #expect(value.integer(as: Int.self) == integer)
            #expect(value.number?.bitPattern == number?.bitPattern)
        }
        #expect(try JSONValue(json: "[ \(digits) ]").json == Array("[\(digits)]".utf8))
    }

    @Test("integers fit or are nil, in each width")
    func widths() throws {
        #expect(JSONValue(digits: "255")?.integer(as: UInt8.self) == 255)
        #expect(JSONValue(digits: "256")?.integer(as: UInt8.self) == nil)
        #expect(JSONValue(digits: "-1")?.integer(as: UInt8.self) == nil)
        #expect(JSONValue(digits: "-0")?.integer(as: UInt8.self) == 0)
        #expect(JSONValue(digits: "-128")?.integer(as: Int8.self) == -128)
        #expect(JSONValue(digits: "128")?.integer(as: Int8.self) == nil)
        #expect(JSONValue(digits: "18446744073709551615")?.integer(as: UInt64.self) == .max)
        let large = "170141183460469231731687303715884105727"
        #expect(JSONValue(digits: large)?.integer(as: Int128.self) == .max)
        #expect(JSONValue(Int128.max).digits == large)
    }

    @Test(
        "what is no number by JSON's grammar is refused as digits",
        arguments: [
            "", " 1", "1 ", "01", "+1", ".5", "1.", "1e", "1e+", "-", "--1", "0x1", "NaN", "Infinity", "1_000", "1,0",
            "\"1\"", "[1", "١", "1\u{0}", "1 1", "1,1",
        ]
    )
    func notNumbers(text: String) {
        #expect(JSONValue(digits: text) == nil)
    }

    @Test("a number of a million digits is only long")
    func longNumber() throws {
        let digits = String(repeating: "7", count: 1_000_000)
        let value = try JSONValue(json: digits)
        #expect(value.digits == digits && value.description == digits)
        #expect(value.integer(as: UInt64.self) == nil)
        #expect(value.number == nil)
        #expect(value == JSONValue(digits: digits + ".0"))
        #expect(JSONValue(digits: "0." + digits)?.number == 0.7777777777777778)
    }

    @Test("an object is a collection of its members in their order")
    func object() throws {
        let object = try #require(try JSONValue(json: #"{"b":1,"a":2,"b":3}"#).object)
        #expect(object.count == 3)
        #expect(object.keys == ["b", "a", "b"])
        #expect(object.values == [1, 2, 3])
        #expect(object[1].key == "a" && object[1].value == 2)
        #expect(object["b"] == 3 && object["c"] == nil)
        #expect(object.map(\.key).joined() == "bab")
        #expect(JSONObject(object.filter { $0.key == "a" }) == ["a": 2])
        #expect(JSONValue(object).description == #"{"b":1,"a":2,"b":3}"#)
        #expect(JSONObject([(key: "x", value: 1)]).description == #"{"x":1}"#)
    }
}
