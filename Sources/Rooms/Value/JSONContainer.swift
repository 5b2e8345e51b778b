/// The inside of an array or an object.
///
/// A class, so that values are cheap to copy, and so that what is nested deeper than any stack allows can be taken
/// apart without one.
final class JSONContainer: Sendable {
    /// Of an object: its keys in their order, repeated ones included; empty for an array.
    let keys: [String]
    // Safety: written in `init` and, when nobody else has a reference any more, while it is taken apart.
    private(set) nonisolated(unsafe) var values: [JSONValue]
    /// Levels of arrays and objects, this one included.
    let depth: Int
    /// Positions sorted by key, those of the same key in their order; empty for the few keys that need no order.
    private let order: [UInt32]

    /// An array.
    init(values: [JSONValue]) {
        keys = []
        self.values = values
        depth = Self.depth(over: values)
        order = []
    }

    /// An object; as many keys as values.
    init(keys: [String], values: [JSONValue]) {
        self.keys = keys
        self.values = values
        depth = Self.depth(over: values)
        order =
            keys.count <= Self.fewKeys
            ? []
            : keys.indices.map(UInt32.init(truncatingIfNeeded:)).sorted { left, right in
                let (first, second) = (keys[Int(left)], keys[Int(right)])
                if first.hasSameBytes(as: second) { return left < right }
                return first.bytesPrecede(second)
            }
    }

    deinit {
        // Releasing a value inside a value inside a value takes a few stack frames for each; a loop takes none.
        guard depth > Self.plainDepth else { return }
        var pending = deepChildren
        values = []
        while var container = pending.popLast() {
            guard isKnownUniquelyReferenced(&container) else { continue }
            pending += container.deepChildren
            container.values = []
        }
    }

    /// Where the member of that key stands, byte for byte; of several the last one.
    func position(of key: String) -> Int? {
        guard !order.isEmpty else { return keys.lastIndex { $0.hasSameBytes(as: key) } }
        // The first place behind all keys up to this one.
        var low = 0
        var high = order.count
        while low < high {
            let middle = low + (high - low) / 2
            if key.bytesPrecede(keys[Int(order[middle])]) { high = middle } else { low = middle + 1 }
        }
        guard low > 0, keys[Int(order[low - 1])].hasSameBytes(as: key) else { return nil }
        return Int(order[low - 1])
    }

    /// Positions of the members that a lookup finds: all but the repeated ones.
    var foundPositions: [Int] {
        keys.indices.filter { position(of: keys[$0]) == $0 }
    }

    /// Compared one by one, they are found faster than in an order.
    private static let fewKeys = 16
    /// So many levels are released by recursion.
    private static let plainDepth = 64

    private var deepChildren: [JSONContainer] {
        values.compactMap { value in
            guard let container = value.container, container.depth > Self.plainDepth else { return nil }
            return container
        }
    }

    private static func depth(over values: [JSONValue]) -> Int {
        var deepest = 0
        for value in values { deepest = max(deepest, value.depth) }
        return deepest + 1
    }
}
