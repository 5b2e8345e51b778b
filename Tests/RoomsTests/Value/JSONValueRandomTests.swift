import BridgeTestSupport
import Foundation
import Rooms
import RoomsWire
import Testing

@Suite struct JSONValueRandomTests {
    @Test("what is written reads as the same value, with the same digits and the same order", arguments: [1, 2, 3])
    func roundTrip(seed: UInt64) throws {
        var source = RandomJSON(seed: seed)
        for _ in 0..<150 {
            let value = source.value(levels: 4)
            let text = value.json
            let read = try JSONValue(json: text)
            #expect(read == value && read.hashValue == value.hashValue)
            #expect(read.json == text)
            #expect(text.withUnsafeBytes { JSONScanner.isValid($0) })
        }
    }

    @Test("numbers written in another way stay equal, and hash alike", arguments: [4])
    func numbers(seed: UInt64) throws {
        var source = RandomJSON(seed: seed)
        for _ in 0..<2_000 {
            let digits = source.digits()
            let value = try #require(JSONValue(digits: digits), "\(digits)")
            #expect(value.digits == digits)
            // The same worth: one more zero behind the point, or an exponent of zero.
            guard !digits.contains(where: { $0 == "e" || $0 == "E" }) else { continue }
            for other in [digits.contains(".") ? digits + "0" : digits + ".0", digits + "e0", digits + "E-00"] {
                let same = try #require(JSONValue(digits: other), "\(other)")
                #expect(same == value && same.hashValue == value.hashValue, "\(digits) and \(other)")
            }
            #expect(JSONValue(digits: digits + "e1") != value || value == 0)
        }
    }

    @Test("mutated texts are read as the scanner of payloads says, and never trap", arguments: [5, 6])
    func fuzz(seed: UInt64) {
        var source = RandomJSON(seed: seed)
        var valid = 0
        for _ in 0..<1_500 {
            let text = source.random.mutated(source.value(levels: 2).json)
            let isValid = text.withUnsafeBytes { JSONScanner.isValid($0) }
            guard let value = try? JSONValue(json: text) else {
                #expect(!isValid, "refused: \(String(decoding: text, as: UTF8.self))")
                continue
            }
            #expect(isValid)
            valid += 1
            #expect((try? JSONValue(json: value.json)) == value)
            _ = try? value.decode([String: [Int?]].self)
            _ = try? value.decode([Double].self)
        }
        #expect(valid > 50, "mutations have to leave some texts valid")
    }

    /// Both decoders on one text; what one of them refuses the other has to refuse.
    private func compare<Value: Decodable & Equatable>(_ text: [UInt8], _ type: Value.Type) -> Bool {
        let theirs = try? JSONDecoder().decode(type, from: Data(text))
        let ours = try? JSONValue(json: text).decode(type)
        let shown = String(decoding: text, as: UTF8.self)
        #expect(ours == theirs, "\(type) from \(shown)")
        return ours != nil
    }

    private struct Sample: Decodable, Equatable {
        struct Inner: Decodable, Equatable {
            var a: Int8?
            var b: [String]?
        }

        enum Kind: String, Decodable { case x, y }

        var number: Double
        var integer: Int?
        var text: String?
        var kind: Kind?
        var inner: Inner?
        var list: [Inner?]?
        var flags: [String: Bool]?
    }

    @Test("types are decoded from random texts as Foundation decodes them", arguments: [7, 8])
    func foundation(seed: UInt64) {
        var source = RandomJSON(seed: seed, isPlain: true)
        var decoded = 0
        for _ in 0..<500 {
            let text = source.value(levels: 2).json
            if compare(text, [Int].self) { decoded += 1 }
            if compare(text, [String: Int].self) { decoded += 1 }
            if compare(text, [Double?].self) { decoded += 1 }
            if compare(text, Int8.self) { decoded += 1 }
            if compare(text, UInt64.self) { decoded += 1 }
            if compare(text, Double.self) { decoded += 1 }
            if compare(text, Bool.self) { decoded += 1 }
            if compare(text, String.self) { decoded += 1 }
            if compare(text, [String: [String: JSONValue]].self) { decoded += 1 }
            if compare(text, [[String?]].self) { decoded += 1 }
        }
        #expect(decoded > 200, "most texts fit none of the types")
    }

    @Test("a struct is decoded from random members as Foundation decodes it", arguments: [9])
    func structs(seed: UInt64) {
        var source = RandomJSON(seed: seed, isPlain: true)
        var decoded = 0
        let choices: [String: [String]] = [
            "number": ["1", "0.25", "\"1\""], "integer": ["7", "7.0", "7.5", "null"], "text": ["\"t\"", "null", "1"],
            "kind": ["\"x\"", "\"z\"", "null"], "inner": ["{}", #"{"a":127}"#, #"{"a":128}"#, #"{"b":["q"]}"#, "[]"],
            "list": ["[]", #"[null,{"a":1}]"#, #"[{"b":[1]}]"#], "flags": ["{}", #"{"a":true}"#, #"{"a":1}"#],
        ]
        for _ in 0..<600 {
            var members: [String] = []
            for (key, texts) in choices.sorted(by: { $0.key < $1.key })
            where !source.random.one(in: key == "number" ? 20 : 2) {
                // Mostly the first, which fits.
                let text = source.random.one(in: 4) ? texts.randomElement(using: &source.random) : texts.first
                members.append("\"\(key)\":\(text ?? "null")")
            }
            if compare(Array("{\(members.joined(separator: ","))}".utf8), Sample.self) { decoded += 1 }
        }
        #expect(decoded > 100 && decoded < 590)
    }
}
