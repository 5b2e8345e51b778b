internal import RoomsRuntime

extension JSONValue: Codable {
    /// Reads any JSON value with any decoder.
    ///
    /// From `decode(_:)` it comes out exactly. Other decoders, Foundation's among them, hand out numbers as integers and
    /// Doubles alone: what needs more digits is rounded there, and the order of members is theirs.
    ///
    /// - Throws: `DecodingError`, also for what is nested deeper than `maximumDepth` levels.
    public init(from decoder: any Decoder) throws {
        if let exact = decoder as? JSONValueDecoder {
            self = exact.value
            return
        }
        guard decoder.codingPath.count <= Self.maximumDepth else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "nested deeper than \(Self.maximumDepth) levels"
                )
            )
        }
        if let container = try? decoder.container(keyedBy: JSONCodingKey.self) {
            self.init(
                JSONObject(
                    try container.allKeys.map { ($0.stringValue, try container.decode(JSONValue.self, forKey: $0)) }
                )
            )
        } else if var container = try? decoder.unkeyedContainer() {
            var values: [JSONValue] = []
            while !container.isAtEnd { values.append(try container.decode(JSONValue.self)) }
            self.init(values)
        } else {
            self = try Self.scalar(from: try decoder.singleValueContainer())
        }
    }

    private static func scalar(from container: any SingleValueDecodingContainer) throws -> JSONValue {
        if container.decodeNil() { return .null }
        if let value = try? container.decode(Bool.self) { return JSONValue(value) }
        if let value = try? container.decode(Int64.self) { return JSONValue(value) }
        if let value = try? container.decode(UInt64.self) { return JSONValue(value) }
        if let value = try? container.decode(Double.self) { return JSONValue(value) }
        return JSONValue(try container.decode(String.self))
    }

    /// Writes the value with any encoder; a binary value as a string, its base64.
    ///
    /// Numbers go as 64-bit integers if they are written as such and fit, else as the closest Double. Of repeated keys
    /// most encoders keep the last one.
    ///
    /// - Throws: `EncodingError` for a number beyond every Double and for what is nested deeper than `maximumDepth`
    ///   levels.
    public func encode(to encoder: any Encoder) throws {
        guard encoder.codingPath.count + depth <= Self.maximumDepth else {
            throw unfit(for: encoder, "nested deeper than \(Self.maximumDepth) levels")
        }
        switch storage {
        case .array(let container):
            var elements = encoder.unkeyedContainer()
            for value in container.values { try elements.encode(value) }
        case .object(let container):
            var members = encoder.container(keyedBy: JSONCodingKey.self)
            for (key, value) in zip(container.keys, container.values) {
                try members.encode(value, forKey: JSONCodingKey(stringValue: key))
            }
        case .null:
            var single = encoder.singleValueContainer()
            try single.encodeNil()
        case .bool(let value):
            var single = encoder.singleValueContainer()
            try single.encode(value)
        case .string(let text):
            var single = encoder.singleValueContainer()
            try single.encode(text)
        case .binary(let bytes):
            var single = encoder.singleValueContainer()
            try single.encode(String(decoding: Base64.encode(bytes), as: UTF8.self))
        case .number(let digits):
            try encodeNumber(digits, to: encoder)
        }
    }

    private func encodeNumber(_ digits: String, to encoder: any Encoder) throws {
        var single = encoder.singleValueContainer()
        // Only a Double has a negative zero.
        if digits != "-0", let value = Int64(digits) {
            try single.encode(value)
        } else if let value = UInt64(digits) {
            try single.encode(value)
        } else if let value = number {
            try single.encode(value)
        } else {
            throw unfit(for: encoder, "the number is beyond every Double")
        }
    }

    private func unfit(for encoder: any Encoder, _ what: String) -> EncodingError {
        .invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: what))
    }
}
