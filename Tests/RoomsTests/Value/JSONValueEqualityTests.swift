import Rooms
import Testing

@Suite struct JSONValueEqualityTests {
    @Test(
        "values that are worth the same are equal and hash alike",
        arguments: [
            ("1", "1.0"), ("1", "10e-1"), ("1", "0.1E+1"), ("100", "1e2"), ("0", "-0"), ("0", "0.000"),
            ("0", "0e99999999999999999999"), ("1e400", "10e399"), ("-1.50", "-15e-1"), ("0.1", "1e-1"),
            ("12345678901234567890", "12345678901234567890.0"), ("1e99999999999999999999", "1e99999999999999999999"),
            ("[1,[2.0]]", "[1.0,[2]]"), (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#),
            (#"{"a":0,"b":2,"a":1}"#, #"{"b":2,"a":1}"#),
            (#"{"a":{"x":1,"y":[]}}"#, #"{"a":{"y":[],"x":1}}"#), (#""\u00e9""#, #""é""#), ("null", "null"),
            ("[[[[[[[1]]]]]]]", "[[[[[[[1.0]]]]]]]"),
        ]
    )
    func equal(left: String, right: String) throws {
        let (left, right) = (try JSONValue(json: left), try JSONValue(json: right))
        #expect(left == right && right == left)
        #expect(left.hashValue == right.hashValue)
        #expect(Set([left, right]).count == 1)
    }

    @Test(
        "values that differ are not equal",
        arguments: [
            ("1", "2"), ("1", "-1"), ("0.1", "0.10000000000000001"), ("9223372036854775807", "9223372036854775808"),
            ("1e400", "1e401"), ("12345678901234567890", "12345678901234567891"), ("10", "1"),
            ("1e99999999999999999999", "1e99999999999999999998"), ("1e99999999999999999999", "1"), ("1", "\"1\""),
            ("null", "false"), ("null", "0"), ("false", "0"), ("true", "1"), ("[]", "{}"), ("[1,2]", "[2,1]"),
            ("[1]", "[1,1]"),
            (#"{"a":1}"#, #"{"b":1}"#), (#"{"a":1}"#, #"{"a":2}"#), (#"{"a":1}"#, #"{"a":1,"b":1}"#),
            (#"{"a":1,"b":1}"#, #"{"a":1,"a":1}"#), ("\"caf\u{e9}\"", "\"cafe\u{301}\""),
            (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#),
            ("{\"caf\u{e9}\":1}", "{\"cafe\u{301}\":1}"), (#""a""#, #""A""#), ("\"\"", "null"),
        ]
    )
    func different(left: String, right: String) throws {
        let (left, right) = (try JSONValue(json: left), try JSONValue(json: right))
        #expect(left != right && right != left)
        #expect(Set([left, right]).count == 2)
    }

    @Test("objects that differ only in a member's value do not share a hash")
    func spread() {
        let values = (0..<1_000).map { ["id": JSONValue($0), "text": "x", "list": [JSONValue($0 % 7)]] as JSONValue }
        #expect(Set(values.map(\.hashValue)).count > 990)
        let nested = (0..<1_000).map { ["event": ["id": JSONValue($0)]] as JSONValue }
        #expect(Set(nested.map(\.hashValue)).count > 990)
    }

    @Test("large objects are compared by key, whatever their order")
    func largeObjects() {
        let members = (0..<5_000).map { (key: "k\($0)", value: JSONValue($0)) }
        let (forward, backward) = (JSONObject(members), JSONObject(members.reversed()))
        #expect(forward == backward && forward.hashValue == backward.hashValue)
        #expect(forward != JSONObject(members.dropLast()))
    }
}
