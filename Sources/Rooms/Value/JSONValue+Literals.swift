extension JSONValue: ExpressibleByNilLiteral {
    /// `nil` in a literal is JSON's `null`: `["deleted": nil]`.
    public init(nilLiteral: ()) {
        storage = .null
    }
}

extension JSONValue: ExpressibleByStringLiteral {
    /// A JSON string.
    public init(stringLiteral text: String) {
        self.init(text)
    }
}

extension JSONValue: ExpressibleByBooleanLiteral {
    /// JSON's `true` or `false`.
    public init(booleanLiteral value: Bool) {
        self.init(value)
    }
}

extension JSONValue: ExpressibleByFloatLiteral {
    /// The Double that the literal stands for; what needs more digits is made with `init(digits:)`.
    public init(floatLiteral number: Double) {
        self.init(number)
    }
}

extension JSONValue: ExpressibleByIntegerLiteral {
    /// The integer, of any size, with all its digits.
    public init(integerLiteral number: StaticBigInt) {
        if number.bitWidth <= Int.bitWidth {
            self.init(Int(truncatingIfNeeded: number[0]))
        } else {
            self.init(storage: .number(Self.digits(of: number)))
        }
    }

    /// Long division of the words by ten, until nothing is left.
    private static func digits(of number: StaticBigInt) -> String {
        let isNegative = number.signum() < 0
        var words = (0...number.bitWidth / UInt.bitWidth).map { number[$0] }
        if isNegative {
            var carry = true
            for index in words.indices {
                (words[index], carry) = (~words[index]).addingReportingOverflow(carry ? 1 : 0)
            }
        }
        var digits: [UInt8] = []
        while words.contains(where: { $0 != 0 }) {
            var rest: UInt = 0
            for index in words.indices.reversed() {
                (words[index], rest) = UInt(10).dividingFullWidth((rest, words[index]))
            }
            digits.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest))
        }
        return (isNegative ? "-" : "") + String(decoding: digits.reversed(), as: UTF8.self)
    }
}

extension JSONValue: ExpressibleByArrayLiteral {
    /// A JSON array.
    public init(arrayLiteral elements: JSONValue...) {
        self.init(elements)
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
    /// A JSON object, its members in the order of the literal.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self.init(JSONObject(members.map { (key: $0.0, value: $0.1) }))
    }
}
