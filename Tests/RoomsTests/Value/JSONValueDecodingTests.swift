import Foundation
import Rooms
import Testing

private struct Order: Decodable, Equatable {
    struct Line: Decodable, Equatable {
        let name: String
        let price: Double
        var count: UInt8?
    }

    enum Status: String, Decodable { case sent, paid }

    enum Payment: Decodable, Equatable {
        case cash
        case card(number: String, Int)
    }

    let id: Int64
    let status: Status
    let lines: [Line]
    let tags: [String: Bool]
    let payment: Payment
    let note: String?
    let extra: JSONValue
    let ratio: Float
}

private class Animal: Decodable {
    let name: String

    private enum CodingKeys: CodingKey { case name }

    required init(from decoder: any Decoder) throws {
        name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
    }
}

private final class Dog: Animal {
    let barks: Bool
    let other: String

    private enum CodingKeys: CodingKey { case barks, other }

    required init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        barks = try container.decode(Bool.self, forKey: .barks)
        other = try Animal(from: container.superDecoder(forKey: .other)).name
        try super.init(from: container.superDecoder())
    }
}

/// Reads by hand what synthesized code never asks for.
private struct ByHand: Decodable, Equatable {
    var texts: [String] = []
    var nulls = 0
    var inner: [Int] = []
    var named: Int?
    var last = ""

    private enum CodingKeys: CodingKey { case list, object }
    private enum InnerKeys: CodingKey { case x }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        named = try container.nestedContainer(keyedBy: InnerKeys.self, forKey: .object).decode(Int.self, forKey: .x)
        var list = try container.nestedUnkeyedContainer(forKey: .list)
        while !list.isAtEnd {
            if try list.decodeNil() {
                nulls += 1
            } else if let text = try? list.decode(String.self) {
                texts.append(text)
            } else if var nested = try? list.nestedUnkeyedContainer() {
                while !nested.isAtEnd { inner.append(try nested.decode(Int.self)) }
            } else if let keyed = try? list.nestedContainer(keyedBy: InnerKeys.self) {
                inner.append(try keyed.decode(Int.self, forKey: .x))
            } else {
                last = try String(from: list.superDecoder().singleValueContainer().decode(Bool.self))
            }
        }
    }

    init(texts: [String], nulls: Int, inner: [Int], named: Int?, last: String) {
        (self.texts, self.nulls, self.inner, self.named, self.last) = (texts, nulls, inner, named, last)
    }
}

extension String {
    fileprivate init(from value: Bool) throws { self = value ? "yes" : "no" }
}

private final class Chain: Decodable {
    let next: Chain?
}

@Suite struct JSONValueDecodingTests {
    @Test("a type of an app is read whole")
    func order() throws {
        let value = try JSONValue(
            json: """
                {"id":9223372036854775807,"status":"paid","lines":[{"name":"é","price":0.1,"count":255},{"name":"","price":1e2}],
                 "tags":{"new":true,"old":false},"payment":{"card":{"number":"4","_1":7}},"note":null,
                 "extra":{"b":1e400,"a":12345678901234567890,"b":-0},"ratio":0.1,"unknown":[]}
                """
        )
        let order = try value.decode(Order.self)
        #expect(order.id == .max && order.status == .paid && order.note == nil && order.ratio == 0.1)
        #expect(order.lines == [.init(name: "é", price: 0.1, count: 255), .init(name: "", price: 100, count: nil)])
        #expect(order.tags == ["new": true, "old": false])
        #expect(order.payment == .card(number: "4", 7))
        #expect(order.extra.description == #"{"b":1e400,"a":12345678901234567890,"b":-0}"#)
        let again: Order = try value.decode()
        #expect(again == order)
    }

    @Test("JSONValue decodes exactly, alone and inside of everything")
    func exact() throws {
        let value = try JSONValue(json: #"{"b":[1e400,0.10],"a":null}"#)
        #expect(try value.decode(JSONValue.self).json == value.json)
        let members = try value.decode([String: JSONValue].self)
        #expect(members["b"]?.description == "[1e400,0.10]" && members["a"]?.isNull == true)
        #expect(try value["b"]?.decode([JSONValue].self).map(\.digits) == ["1e400", "0.10"])
        #expect(try JSONValue.null.decode(JSONValue?.self) == nil)
        #expect(try JSONValue(1).decode(JSONValue?.self) == 1)
        let binary = JSONValue(data: [1, 2])
        #expect(try binary.decode(JSONValue.self) == binary)
        #expect(try (["x": binary] as JSONValue).decode([String: JSONValue].self)["x"]?.data == [1, 2])
        #expect(throws: DecodingError.self) { try binary.decode(String.self) }
        #expect(throws: DecodingError.self) { try binary.decode([UInt8].self) }
    }

    @Test("super decoders, nested containers and hand-made reading work")
    func byHand() throws {
        let dog = try JSONValue(json: #"{"barks":true,"super":{"name":"Rex"},"other":{"name":"Tom"}}"#).decode(Dog.self)
        #expect(dog.name == "Rex" && dog.barks && dog.other == "Tom")
        let value = try JSONValue(json: #"{"list":["a",null,[1,2],"b",{"x":3},true,null],"object":{"x":5}}"#)
        #expect(
            try value.decode(ByHand.self)
                == ByHand(texts: ["a", "b"], nulls: 2, inner: [1, 2, 3], named: 5, last: "yes")
        )
    }

    @Test("a superclass without its member reads null")
    func missingSuper() throws {
        let error = #expect(throws: DecodingError.self) {
            try JSONValue(json: #"{"barks":true,"other":{"name":"Tom"}}"#).decode(Dog.self)
        }
        guard case .valueNotFound(_, let context)? = error else {
            Issue.record("wrong error")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["super"])
    }

    @Test("of a repeated key the last one counts, and every key of a dictionary comes once")
    func repeatedKeys() throws {
        let value = try JSONValue(json: #"{"a":"x","b":2,"a":1}"#)
        #expect(try value.decode([String: Int].self) == ["a": 1, "b": 2])
    }

    @Test("dictionaries with integer keys, sets, optionals and tuples of arrays are read as Swift writes them")
    func standardTypes() throws {
        #expect(try JSONValue(json: #"{"1":"a","-2":"b"}"#).decode([Int: String].self) == [1: "a", -2: "b"])
        #expect(try ([1, nil, 3] as JSONValue).decode([Int?].self) == [1, nil, 3])
        #expect(try ([3, 1, 3] as JSONValue).decode(Set<Int>.self) == [1, 3])
        #expect(try ([1, 5] as JSONValue).decode(ClosedRange<Int>.self) == 1...5)
        #expect(try (800.5 as JSONValue).decode(Date.self) == Date(timeIntervalSinceReferenceDate: 800.5))
        #expect(try ("https://example.com/x" as JSONValue).decode(String.self) == "https://example.com/x")
        #expect(try ([[1], []] as JSONValue).decode([[Int8]].self) == [[1], []])
    }

    @Test("integers decode when they are whole and fit, in each width")
    func integers() throws {
        func check<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws {
            for wrapped in [false, true] {
                func decode(_ value: JSONValue) throws -> Value {
                    guard wrapped else { return try value.decode() }
                    let (list, object) = (try JSONValue([value]).decode([Value].self), ["k": value] as JSONValue)
                    #expect(try object.decode([String: Value].self) == ["k": list[0]])
                    return list[0]
                }
                #expect(try decode(JSONValue(Value.max)) == .max)
                #expect(try decode(JSONValue(Value.min)) == .min)
                #expect(try decode(JSONValue(json: "1.20e1")) == 12)
                #expect(throws: DecodingError.self) { try decode(JSONValue(json: "\(Value.max)0")) }
                #expect(throws: DecodingError.self) { try decode(JSONValue(json: "-\(Value.max)0")) }
                #expect(throws: DecodingError.self) { try decode(1.5) }
                #expect(throws: DecodingError.self) { try decode("1") }
                #expect(throws: DecodingError.self) { try decode(true) }
                #expect(throws: DecodingError.self) { try decode(nil) }
            }
        }
        try check(Int.self)
        try check(Int8.self)
        try check(Int16.self)
        try check(Int32.self)
        try check(Int64.self)
        try check(Int128.self)
        try check(UInt.self)
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
        try check(UInt128.self)
    }

    @Test("floats are the closest ones to the digits, rounded once, and never infinite")
    func floats() throws {
        #expect(try JSONValue(json: "0.1").decode(Double.self) == 0.1)
        #expect(try JSONValue(json: "9007199254740993").decode(Double.self) == 9_007_199_254_740_992)
        // By way of a Double this one would be rounded down first, and then to even.
        let halfway = "1.000000059604644775390625000000000000000001"
        #expect(try JSONValue(json: halfway).decode(Float.self) == Float(1).nextUp)
        #expect(try JSONValue(json: "1e39").decode(Double.self) == 1e39)
        for type in ["1e400", "-1e400"] {
            #expect(throws: DecodingError.self) { try JSONValue(json: type).decode(Double.self) }
        }
        #expect(throws: DecodingError.self) { try JSONValue(json: "1e39").decode(Float.self) }
        #expect(try JSONValue(json: "1e-400").decode(Double.self) == 0)
    }

    /// A text, the type that it does not fit, and the error as kind, path and words.
    private static func failure<Value: Decodable>(_ text: String, _ type: Value.Type) -> String {
        do {
            _ = try JSONValue(json: text).decode(type)
            return "none"
        } catch let error as DecodingError {
            let (kind, context) =
                switch error {
                case .typeMismatch(_, let context): ("mismatch", context)
                case .valueNotFound(_, let context): ("not found", context)
                case .keyNotFound(_, let context): ("no key", context)
                case .dataCorrupted(let context): ("corrupted", context)
                @unknown default: ("unknown", DecodingError.Context(codingPath: [], debugDescription: ""))
                }
            let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
            return "\(kind) at \(path): \(context.debugDescription)"
        } catch {
            return "\(error)"
        }
    }

    @Test("an error says what and where, and nothing of the value")
    func errors() {
        #expect(Self.failure("[1,\"secret\"]", [Int].self) == "mismatch at [1]: expected a number, found a string")
        #expect(
            Self.failure("{\"a\":[{\"b\":1.5}]}", [String: [[String: Int]]].self)
                == "corrupted at a.[0].b: the number is not whole, or does not fit in Int"
        )
        #expect(Self.failure("{\"name\":\"x\"}", Order.Line.self) == "no key at : there is no member price")
        #expect(
            Self.failure("{\"name\":\"x\",\"price\":null}", Order.Line.self)
                == "not found at price: expected a number, found null"
        )
        #expect(Self.failure("[]", [String: Int].self) == "mismatch at : expected an object, found an array")
        #expect(Self.failure("{}", [Int].self) == "mismatch at : expected an array, found an object")
        #expect(Self.failure("\"other\"", Order.Status.self).hasPrefix("corrupted at : "))
        #expect(Self.failure("[1]", ClosedRange<Int>.self) == "not found at [1]: the array has no more elements")
        #expect(Self.failure("1e400", Double.self) == "corrupted at : the number is too large for Double")
        #expect(Self.failure("1", Bool.self) == "mismatch at : expected a bool, found a number")
        #expect(Self.failure("true", String.self) == "mismatch at : expected a string, found a bool")
    }

    @Test("a text of the deepest kind decodes on a small stack, and a value built deeper is refused")
    func depth() async throws {
        let text =
            String(repeating: "{\"next\":", count: JSONValue.maximumDepth - 1) + "{}"
            + String(repeating: "}", count: JSONValue.maximumDepth - 1)
        let value = try JSONValue(json: text)
        let length = await withCheckedContinuation { continuation in
            let thread = Thread {
                var length = 0
                var chain = try? value.decode(Chain.self)
                while let next = chain {
                    length += 1
                    chain = next.next
                }
                continuation.resume(returning: length)
            }
            thread.stackSize = 2 * 1_024 * 1_024
            thread.start()
        }
        #expect(length == JSONValue.maximumDepth)
        let deeper: JSONValue = ["next": value]
        #expect(throws: DecodingError.self) { try deeper.decode(Chain.self) }
    }
}
