import BridgeTestSupport
import Foundation
import Rooms
import RoomsWire
import Testing

@Suite struct JSONValueTextTests {
    @Test(
        "what is read is written again byte for byte, but for white space and needless escapes",
        arguments: [
            (#"{"z":1,"a":{"y":[],"b":{}},"z":2}"#, nil), ("[0.10,1E5,-0,1e+05]", nil), (#""""#, nil), ("null", nil),
            ("[true,false,null]", nil), (" { \"a\" : [ 1 , 2 ] } \n", #"{"a":[1,2]}"#),
            (#""\u0041\/\u00e9""#, #""A/é""#),
            (#""\u0000\u001f\b\f\n\r\t\"\\""#, #""\u0000\u001f\b\f\n\r\t\"\\""#),
            (#""\ud83d\ude00\ud83d""#, "\"😀\u{fffd}\""),
            ("\"\u{7f}\u{2028}\u{feff}\"", nil), (#"{"":""}"#, nil),
        ] as [(String, String?)]
    )
    func roundTrip(text: String, written: String?) throws {
        let value = try JSONValue(json: text)
        #expect(value.json == Array((written ?? text).utf8))
        #expect(try JSONValue(json: value.json) == value)
    }

    @Test("keys that differ only in composed and decomposed accents are two", arguments: [2, 40])
    func accents(members: Int) throws {
        let fill = (2..<members).map { #","k\#($0)":0"# }.joined()
        let text = "{\"caf\u{e9}\":1,\"cafe\u{301}\":2\(fill)}"
        let value = try JSONValue(json: text)
        #expect("caf\u{e9}" == "cafe\u{301}", "as strings they are the same")
        #expect(value["caf\u{e9}"] == 1)
        #expect(value["cafe\u{301}"] == 2)
        #expect(value.object?.count == members)
        #expect(value.json == Array(text.utf8))
    }

    @Test("of a repeated key the last one is found and all are written, however many members there are")
    func repeatedKeys() throws {
        for count in [1, 2, 15, 16, 17, 18, 100, 1_000] {
            var random = SeededRandom(seed: UInt64(count))
            let keys = (0..<count).map { _ in "k\(Int.random(in: 0..<count, using: &random))" }
            let text = "{" + keys.enumerated().map { "\"\($0.element)\":\($0.offset)" }.joined(separator: ",") + "}"
            let value = try JSONValue(json: text)
            #expect(value.description == text)
            for key in Set(keys) { #expect(value[key]?.integer() == keys.lastIndex(of: key)) }
            #expect(value["k"] == nil && value["k\(count)"] == nil && value["l"] == nil && value[""] == nil)
        }
    }

    @Test(
        "what is not JSON is refused with the place and the reason",
        arguments: [
            ("", "1:1: there is no value; at least one has to stand here"),
            ("{\n \"a\" 1}", "2:6: '1' behind a key; a colon and a value have to follow"),
            ("[1,]", "1:4: ']' where a value has to stand; write a value, or take away the comma before it"),
            ("[012]", "1:2: a number with a leading zero; write it without"),
            ("\u{feff}{}", "1:1: the text begins with a byte order mark; save it as UTF-8 without one"),
        ]
    )
    func mistakes(text: String, message: String) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(json: text) }
        #expect(error?.description == message)
        #expect(error.map { "\($0.line):\($0.column): \($0.reason)" } == message)
    }

    @Test("bytes that are not UTF-8 are refused, also in keys")
    func badUTF8() {
        for bytes: [UInt8] in [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80]] {
            #expect(throws: JSONSyntaxError.self) { try JSONValue(json: [0x22] + bytes + [0x22]) }
            #expect(throws: JSONSyntaxError.self) {
                try JSONValue(json: Array("{\"".utf8) + bytes + Array("\":1}".utf8))
            }
        }
    }

    @Test("a text may be 512 levels deep, as payloads may, and no deeper")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            let half = (0..<depth).map { $0 % 2 == 0 ? "[" : "{\"a\":" }.joined()
            return Array((half + "1" + (0..<depth).reversed().map { $0 % 2 == 0 ? "]" : "}" }.joined()).utf8)
        }
        let deepest = nested(JSONValue.maximumDepth)
        #expect(try JSONValue(json: deepest).json == deepest)
        #expect(throws: JSONSyntaxError.self) { try JSONValue(json: nested(JSONValue.maximumDepth + 1)) }
        #expect(throws: JSONSyntaxError.self) {
            try JSONValue(json: [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000))
        }
        #expect(deepest.withUnsafeBytes { JSONScanner.isValid($0) })
        #expect(!nested(JSONValue.maximumDepth + 1).withUnsafeBytes { JSONScanner.isValid($0) })
    }

    @Test("a value built deeper than any stack is written, compared, hashed and released on a small stack")
    func deepValues() async {
        let length = await withCheckedContinuation { continuation in
            let thread = Thread {
                var first: JSONValue = 1
                var second: JSONValue = 1
                for level in 0..<50_000 {
                    first = level % 2 == 0 ? [first, 0] : ["a": first]
                    second = level % 2 == 0 ? [second, 0] : ["a": second]
                }
                let areEqual = first == second && first != [second]
                let hashes = Set([first, second]).count
                let length = first.json.count
                // A part that lives on keeps what is in it.
                let part = first["a"]?[0]
                first = nil
                let rest = part?.json.count ?? 0
                continuation.resume(returning: areEqual && hashes == 1 && rest < length ? length : -1)
            }
            thread.stackSize = 128 * 1_024
            thread.start()
        }
        #expect(length == 25_000 * ("[,0]".utf8.count + #"{"a":}"#.utf8.count) + 1)
    }

    @Test("the array of a deep value can be taken out and released by itself")
    func deepParts() async {
        let count = await withCheckedContinuation { continuation in
            let thread = Thread {
                var value: JSONValue = 1
                for _ in 0..<20_000 { value = [value, [value]] }
                var parts = value.array ?? []
                value = nil
                parts.removeLast()
                continuation.resume(returning: parts.count)
            }
            thread.stackSize = 128 * 1_024
            thread.start()
        }
        #expect(count == 1)
    }
}
