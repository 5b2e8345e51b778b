extension JSONValue: Hashable {
    /// Whether both stand for the same value.
    ///
    /// - Numbers by what they are worth, exactly: 1, 1.0 and 10e-1 are equal, 0.1 and 0.10 too, -0 is 0. Only numbers
    ///   with an exponent beyond ±2^62 are compared as they are written.
    /// - Strings and keys byte for byte: composed and decomposed accents differ.
    /// - Objects by what a lookup of each key gives, whatever the order.
    /// - A binary value equals binary values alone, not the string that it is written as.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        var pending: [(JSONValue, JSONValue)] = []
        var pair = (left, right)
        while true {
            guard Self.matchOutside(pair.0, pair.1, inside: &pending) else { return false }
            guard let next = pending.popLast() else { return true }
            pair = next
        }
    }

    /// Compares all but what is inside of arrays and objects, which is put on the list.
    private static func matchOutside(
        _ left: JSONValue,
        _ right: JSONValue,
        inside pending: inout [(JSONValue, JSONValue)]
    ) -> Bool {
        switch (left.storage, right.storage) {
        case (.null, .null): return true
        case (.bool(let left), .bool(let right)): return left == right
        case (.number(let left), .number(let right)):
            if left.hasSameBytes(as: right) { return true }
            guard let left = DecimalForm(left), let right = DecimalForm(right) else { return false }
            return left == right
        case (.string(let left), .string(let right)): return left.hasSameBytes(as: right)
        case (.binary(let left), .binary(let right)): return left == right
        case (.array(let left), .array(let right)):
            if left === right { return true }
            guard left.values.count == right.values.count else { return false }
            pending.append(contentsOf: zip(left.values, right.values))
            return true
        case (.object(let left), .object(let right)):
            if left === right { return true }
            let positions = left.foundPositions
            guard positions.count == right.foundPositions.count else { return false }
            for position in positions {
                guard let other = right.position(of: left.keys[position]) else { return false }
                pending.append((left.values[position], right.values[other]))
            }
            return true
        default: return false
        }
    }

    /// Feeds what `==` compares, the inside of arrays and objects down to a few levels.
    public func hash(into hasher: inout Hasher) {
        hash(into: &hasher, levels: 4)
    }

    private func hash(into hasher: inout Hasher, levels: Int) {
        switch storage {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let digits):
            hasher.combine(1)
            if let form = DecimalForm(digits) { hasher.combine(form) } else { Self.combine(digits, into: &hasher) }
        case .string(let text):
            hasher.combine(2)
            Self.combine(text, into: &hasher)
        case .binary(let bytes):
            hasher.combine(3)
            hasher.combine(bytes)
        case .array(let container):
            hasher.combine(4)
            hasher.combine(container.values.count)
            guard levels > 0 else { return }
            for value in container.values { value.hash(into: &hasher, levels: levels - 1) }
        case .object(let container):
            hasher.combine(5)
            guard levels > 0 else { return }
            // The order of the members does not count.
            var sum = 0
            for position in container.foundPositions {
                var member = Hasher()
                Self.combine(container.keys[position], into: &member)
                container.values[position].hash(into: &member, levels: levels - 1)
                sum ^= member.finalize()
            }
            hasher.combine(sum)
        }
    }

    private static func combine(_ text: String, into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: $0) }
        hasher.combine(text.utf8.count)
    }
}
