/// The members of a JSON object, in the order in which they were written.
///
/// Keys are compared byte for byte: two that differ only in composed and decomposed accents are two. A key that is
/// repeated stays repeated; a lookup finds the last one, as most parsers do.
public struct JSONObject: Sendable, Hashable {
    let container: JSONContainer

    init(container: JSONContainer) {
        self.container = container
    }

    /// An object of these members, in their order.
    public init(_ members: some Sequence<(key: String, value: JSONValue)>) {
        var keys: [String] = []
        var values: [JSONValue] = []
        keys.reserveCapacity(members.underestimatedCount)
        values.reserveCapacity(members.underestimatedCount)
        for (key, value) in members {
            keys.append(key)
            values.append(value)
        }
        container = JSONContainer(keys: keys, values: values)
    }

    /// The value of the member with that key, of several the last one; nil if there is none.
    public subscript(_ key: String) -> JSONValue? {
        container.position(of: key).map { container.values[$0] }
    }

    /// The keys in their order, repeated ones included.
    public var keys: [String] { container.keys }

    /// The values in the order of their keys.
    public var values: [JSONValue] { container.values }

    /// Whether a lookup of each key gives equal values; the order of the members does not matter.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        JSONValue(left) == JSONValue(right)
    }

    /// Feeds what `==` compares.
    public func hash(into hasher: inout Hasher) {
        JSONValue(self).hash(into: &hasher)
    }
}

extension JSONObject: RandomAccessCollection {
    /// Always 0.
    public var startIndex: Int { 0 }

    /// The number of members, repeated keys included.
    public var endIndex: Int { container.keys.count }

    /// The member at that place, counted from 0.
    public subscript(_ position: Int) -> (key: String, value: JSONValue) {
        (container.keys[position], container.values[position])
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral, CustomStringConvertible {
    /// The members as they stand in the literal.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self.init(members.map { (key: $0.0, value: $0.1) })
    }

    /// The object as compact JSON.
    public var description: String { JSONValue(self).description }
}
