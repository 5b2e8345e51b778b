internal import RoomsRuntime

/// A JSON value as it came: numbers keep their digits, objects the order of their members.
///
/// What a room's event carries, and what is published into one. A payload that is not JSON is a binary value, whose
/// bytes `data` gives.
///
/// ```swift
/// let order: JSONValue = ["status": "sent", "lines": [1, 2.5, nil]]
/// order["status"]?.string       // "sent"
/// order["lines"]?[0]?.number    // 1.0
/// order["total"]                // nil
/// ```
///
/// Values are immutable and cheap to copy. They may be nested as deep as memory lasts: to compare, hash, write and
/// release them takes no more stack for it. Reading a text, coding and publishing end at `maximumDepth` levels.
public struct JSONValue: Sendable {
    /// Levels of arrays and objects that a text may have, and a value that is decoded or encoded: 512.
    public static let maximumDepth = 512

    enum Storage: Sendable {
        case null
        case bool(Bool)
        /// A number by the grammar of RFC 8259.
        case number(String)
        case string(String)
        case binary([UInt8])
        case array(JSONContainer)
        case object(JSONContainer)
    }

    let storage: Storage

    init(storage: Storage) {
        self.storage = storage
    }

    /// JSON's `null`.
    public static let null = JSONValue(storage: .null)

    /// A JSON string.
    public init(_ text: String) {
        storage = .string(text)
    }

    /// JSON's `true` or `false`.
    public init(_ value: Bool) {
        storage = .bool(value)
    }

    /// A number without fraction.
    public init(_ number: some FixedWidthInteger) {
        storage = .number(String(number))
    }

    /// The number with the fewest digits that `number` is the closest Double to.
    ///
    /// Whole numbers are written without a fraction. NaN and the infinities, for which JSON has no form, become `null`,
    /// as JavaScript writes them.
    public init(_ number: Double) {
        guard number.isFinite else {
            storage = .null
            return
        }
        let digits = number.description
        storage = .number(digits.hasSuffix(".0") ? String(digits.dropLast(2)) : digits)
    }

    /// A number written exactly so, such as `"9223372036854775807"`, `"1e400"` or `"0.10"`.
    ///
    /// Nil if that is not a number in JSON's grammar.
    public init?(digits: String) {
        let isNumber = digits.withBytes { JSONValue.isNumber($0) }
        guard isNumber else { return nil }
        storage = .number(digits)
    }

    /// An array of these values.
    public init(_ values: [JSONValue]) {
        storage = .array(JSONContainer(values: values))
    }

    /// An object of these members.
    public init(_ object: JSONObject) {
        storage = .object(object.container)
    }

    /// A binary value of these bytes; written as JSON it is a string, its base64.
    public init(data: [UInt8]) {
        storage = .binary(data)
    }

    var container: JSONContainer? {
        switch storage {
        case .array(let container), .object(let container): container
        default: nil
        }
    }

    /// Levels of arrays and objects: 0 for anything else.
    package var depth: Int { container?.depth ?? 0 }
}

// MARK: - What it is

extension JSONValue {
    /// The text; nil if this is no string.
    public var string: String? {
        guard case .string(let text) = storage else { return nil }
        return text
    }

    /// The number as the closest Double; nil if this is no number, or one beyond every Double.
    ///
    /// `digits` has it exactly, and `integer(as:)` integers.
    public var number: Double? {
        guard case .number(let digits) = storage, let number = Double(digits), number.isFinite else { return nil }
        return number
    }

    /// The digits of the number as they were written; nil if this is no number.
    public var digits: String? {
        guard case .number(let digits) = storage else { return nil }
        return digits
    }

    /// The number, if it is whole (1, 1.0 and 10e-1 are) and fits; else nil.
    ///
    /// Exact: never through a Double.
    public func integer<Value: FixedWidthInteger>(as type: Value.Type = Value.self) -> Value? {
        guard case .number(let digits) = storage else { return nil }
        return DecimalForm(digits)?.integer(as: type)
    }

    /// `true` or `false`; nil if this is neither.
    public var bool: Bool? {
        guard case .bool(let value) = storage else { return nil }
        return value
    }

    /// The elements; nil if this is no array.
    public var array: [JSONValue]? {
        guard case .array(let container) = storage else { return nil }
        return container.values
    }

    /// The members; nil if this is no object.
    public var object: JSONObject? {
        guard case .object(let container) = storage else { return nil }
        return JSONObject(container: container)
    }

    /// The bytes of a binary value, or those that a JSON string has as base64, in the standard alphabet or that of URLs.
    ///
    /// Padding may be left out. Nil for a string that is not base64, and for every other value.
    public var data: [UInt8]? {
        switch storage {
        case .binary(let bytes): bytes
        case .string(let text): text.withBytes { Base64.decode($0) ?? Base64.decodeURL($0) }
        default: nil
        }
    }

    /// Whether this is JSON's `null`.
    public var isNull: Bool {
        guard case .null = storage else { return false }
        return true
    }

    /// The value of the member with that key, compared byte for byte; of several the last one.
    ///
    /// Nil if there is none, or if this is no object. A member that is `null` gives `JSONValue.null`.
    public subscript(_ key: String) -> JSONValue? {
        guard case .object(let container) = storage, let position = container.position(of: key) else { return nil }
        return container.values[position]
    }

    /// The element at that place, counted from 0.
    ///
    /// Nil if there is none, or if this is no array.
    public subscript(_ index: Int) -> JSONValue? {
        guard case .array(let container) = storage, container.values.indices.contains(index) else { return nil }
        return container.values[index]
    }
}
