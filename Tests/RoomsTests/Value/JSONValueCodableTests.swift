import Foundation
import Rooms
import Testing

@Suite struct JSONValueCodableTests {
    @Test(
        "Foundation's coders read and write every value that they can express",
        arguments: [
            "null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
            "0.1",
            "1e20", "\"\"", "\"é😀\"", "[]", "{}", #"[1,"a",null,[true],{"b":{}}]"#, #"{"a":{"b":[{"c":[null]}]}}"#,
        ]
    )
    func foundation(text: String) throws {
        let value = try JSONValue(json: text)
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) == value)
        let written = try JSONEncoder().encode(value)
        #expect(try JSONValue(json: Array(written)) == value)
    }

    @Test("inside of a type of an app it is coded like any member")
    func member() throws {
        struct Envelope: Codable, Equatable {
            var event: String
            var data: JSONValue
            var more: JSONValue?
        }
        let envelope = Envelope(event: "e", data: ["a": [1, 2.5]], more: nil)
        let written = try JSONEncoder().encode(envelope)
        #expect(try JSONValue(json: Array(written)) == ["event": "e", "data": ["a": [1, 2.5]]])
        #expect(try JSONDecoder().decode(Envelope.self, from: written) == envelope)
        let null = Data(#"{"event":"e","data":null,"more":null}"#.utf8)
        #expect(try JSONDecoder().decode(Envelope.self, from: null) == Envelope(event: "e", data: nil, more: nil))
    }

    @Test("a binary value is encoded as its base64")
    func binary() throws {
        let written = try JSONEncoder().encode(["x": JSONValue(data: [1, 2, 3])])
        #expect(String(decoding: written, as: UTF8.self) == #"{"x":"AQID"}"#)
    }

    @Test("numbers keep what the coder can hold: long ones the closest Double")
    func numbers() throws {
        func written(_ digits: String) throws -> JSONValue {
            try JSONValue(json: Array(JSONEncoder().encode(JSONValue(json: digits))))
        }
        #expect(try written("-0") == 0)
        #expect(try written("0.10") == 0.1)
        #expect(try written("12345678901234567890123").number == 12_345_678_901_234_567_741_440)
        #expect(try written("1.0") == 1)
        #expect(throws: EncodingError.self) { try written("1e400") }
        #expect(throws: EncodingError.self) { try written("[1,1e400]") }
    }

    @Test("property lists are another format that carries it")
    func propertyList() throws {
        let value: JSONValue = ["a": [1, "x", true, 2.5], "b": ["c": -3]]
        let written = try PropertyListEncoder().encode(value)
        #expect(try PropertyListDecoder().decode(JSONValue.self, from: written) == value)
    }

    @Test("what is too deep to be encoded is refused")
    func depth() {
        var value: JSONValue = 1
        for _ in 0...JSONValue.maximumDepth { value = [value] }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(value) }
        #expect(throws: EncodingError.self) { try JSONEncoder().encode([value[0]]) }
    }
}
