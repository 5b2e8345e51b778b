extension JSONValue {
    /// A value of that type, read from this one as its `Decodable` says.
    ///
    /// - Integers are read from whole numbers that fit, exactly; a Double or Float is the closest one.
    /// - `JSONValue` comes out as it is, with every digit.
    /// - A binary value decodes as `JSONValue` alone.
    ///
    /// - Throws: `DecodingError` with the coding path of the first value that does not fit. Its text tells kinds and
    ///   types, never what stands in the value.
    public func decode<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        guard depth <= Self.maximumDepth else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "nested deeper than \(Self.maximumDepth) levels")
            )
        }
        return try JSONValueDecoder(value: self, path: .root).read()
    }

    /// What kind of value this is, for messages.
    var kindName: String {
        switch storage {
        case .null: "null"
        case .bool: "a bool"
        case .number: "a number"
        case .string: "a string"
        case .binary: "a binary value"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// Where a value stands, as a chain: an array of keys is only made for those who ask.
indirect enum JSONCodingPath {
    case root
    case child(any CodingKey, of: JSONCodingPath)

    var keys: [any CodingKey] {
        var keys: [any CodingKey] = []
        var rest = self
        while case .child(let key, let parent) = rest {
            keys.append(key)
            rest = parent
        }
        return keys.reversed()
    }

    func child(_ key: any CodingKey) -> JSONCodingPath { .child(key, of: self) }
}

/// A key that is text or a place in an array.
struct JSONCodingKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = String(intValue)
        self.intValue = intValue
    }

    static let superKey = JSONCodingKey(stringValue: "super")
}

/// Reads Swift values out of one `JSONValue`.
struct JSONValueDecoder: Decoder {
    let value: JSONValue
    let path: JSONCodingPath

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .object(let members) = value.storage else {
            throw mismatch([String: Any].self, expected: "an object")
        }
        return KeyedDecodingContainer(JSONKeyedContainer<Key>(members: members, path: path))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = value.storage else { throw mismatch([Any].self, expected: "an array") }
        return JSONUnkeyedContainer(values: elements.values, path: path)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    /// A value of any type; `JSONValue` itself without its `Decodable`.
    func read<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        if type == JSONValue.self, let value = value as? Value { return value }
        return try Value(from: self)
    }

    func readBool() throws -> Bool {
        guard let bool = value.bool else { throw mismatch(Bool.self, expected: "a bool") }
        return bool
    }

    func readString() throws -> String {
        guard let string = value.string else { throw mismatch(String.self, expected: "a string") }
        return string
    }

    func readInteger<Value: FixedWidthInteger>(_ type: Value.Type = Value.self) throws -> Value {
        guard case .number = value.storage else { throw mismatch(type, expected: "a number") }
        guard let integer = value.integer(as: type) else {
            throw corrupted("the number is not whole, or does not fit in \(type)")
        }
        return integer
    }

    func readFloat<Value: BinaryFloatingPoint & LosslessStringConvertible>(
        _ type: Value.Type = Value.self
    ) throws -> Value {
        guard case .number(let digits) = value.storage else { throw mismatch(type, expected: "a number") }
        // From the digits: by way of a Double it would be rounded twice.
        guard let float = Value(digits), float.isFinite else { throw corrupted("the number is too large for \(type)") }
        return float
    }

    private func mismatch(_ type: Any.Type, expected: String) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "expected \(expected), found \(value.kindName)"
        )
        return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }

    private func corrupted(_ what: String) -> DecodingError {
        .dataCorrupted(.init(codingPath: codingPath, debugDescription: what))
    }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { value.isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try readBool() }
    func decode(_ type: String.Type) throws -> String { try readString() }
    func decode(_ type: Double.Type) throws -> Double { try readFloat() }
    func decode(_ type: Float.Type) throws -> Float { try readFloat() }
    func decode(_ type: Int.Type) throws -> Int { try readInteger() }
    func decode(_ type: Int8.Type) throws -> Int8 { try readInteger() }
    func decode(_ type: Int16.Type) throws -> Int16 { try readInteger() }
    func decode(_ type: Int32.Type) throws -> Int32 { try readInteger() }
    func decode(_ type: Int64.Type) throws -> Int64 { try readInteger() }
    func decode(_ type: Int128.Type) throws -> Int128 { try readInteger() }
    func decode(_ type: UInt.Type) throws -> UInt { try readInteger() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try readInteger() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try readInteger() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try readInteger() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try readInteger() }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try readInteger() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try read() }
}
