/// The members of an object, found by key.
struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: JSONContainer
    let path: JSONCodingPath

    var codingPath: [any CodingKey] { path.keys }

    /// Each key once, where the member that counts stands.
    var allKeys: [Key] { members.foundPositions.compactMap { Key(stringValue: members.keys[$0]) } }

    func contains(_ key: Key) -> Bool { members.position(of: key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).value.isNull }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder(key).readBool() }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder(key).readString() }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder(key).readFloat() }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder(key).readFloat() }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder(key).readInteger() }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder(key).readInteger() }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder(key).readInteger() }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder(key).readInteger() }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder(key).readInteger() }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try decoder(key).readInteger() }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder(key).readInteger() }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder(key).readInteger() }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder(key).readInteger() }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder(key).readInteger() }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder(key).readInteger() }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try decoder(key).readInteger() }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try decoder(key).read() }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { superDecoder(of: JSONCodingKey.superKey) }
    func superDecoder(forKey key: Key) -> any Decoder { superDecoder(of: key) }

    /// Without that member, a decoder of null: the superclass may do without it.
    private func superDecoder(of key: any CodingKey) -> any Decoder {
        let value = members.position(of: key.stringValue).map { members.values[$0] }
        return JSONValueDecoder(value: value ?? .null, path: path.child(key))
    }

    private func decoder(_ key: Key) throws -> JSONValueDecoder {
        guard let position = members.position(of: key.stringValue) else {
            let context = DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "there is no member \(key.stringValue)"
            )
            throw DecodingError.keyNotFound(key, context)
        }
        return JSONValueDecoder(value: members.values[position], path: path.child(key))
    }
}
