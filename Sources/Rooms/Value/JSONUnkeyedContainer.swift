/// The elements of an array, one after another; a failed read does not go on to the next.
struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    let values: [JSONValue]
    let path: JSONCodingPath
    private(set) var currentIndex = 0

    init(values: [JSONValue], path: JSONCodingPath) {
        self.values = values
        self.path = path
    }

    var codingPath: [any CodingKey] { path.keys }
    var count: Int? { values.count }
    var isAtEnd: Bool { currentIndex == values.count }

    mutating func decodeNil() throws -> Bool {
        guard try decoder(Any?.self).value.isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try next { try $0.readBool() } }
    mutating func decode(_ type: String.Type) throws -> String { try next { try $0.readString() } }
    mutating func decode(_ type: Double.Type) throws -> Double { try next { try $0.readFloat() } }
    mutating func decode(_ type: Float.Type) throws -> Float { try next { try $0.readFloat() } }
    mutating func decode(_ type: Int.Type) throws -> Int { try next { try $0.readInteger() } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try next { try $0.readInteger() } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try next { try $0.readInteger() } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try next { try $0.readInteger() } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try next { try $0.readInteger() } }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try next { try $0.readInteger() } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try next { try $0.readInteger() } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next { try $0.readInteger() } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next { try $0.readInteger() } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next { try $0.readInteger() } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next { try $0.readInteger() } }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next { try $0.readInteger() } }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next { try $0.read() } }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        try next { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try next { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try next { $0 } }

    private mutating func next<Value>(_ read: (JSONValueDecoder) throws -> Value) throws -> Value {
        let value = try read(try decoder(Value.self))
        currentIndex += 1
        return value
    }

    private func decoder(_ type: Any.Type) throws -> JSONValueDecoder {
        let path = path.child(JSONCodingKey(intValue: currentIndex))
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                type,
                .init(codingPath: path.keys, debugDescription: "the array has no more elements")
            )
        }
        return JSONValueDecoder(value: values[currentIndex], path: path)
    }
}
