import BridgeTestSupport
import Rooms

/// Makes values and texts of every shape, the same ones in each run.
struct RandomJSON {
    var random: SeededRandom
    /// What Foundation and this library read alike: no repeated keys, no numbers that one of them refuses.
    var isPlain = false

    init(seed: UInt64, isPlain: Bool = false) {
        random = SeededRandom(seed: seed)
        self.isPlain = isPlain
    }

    mutating func value(levels: Int = 5) -> JSONValue {
        switch Int.random(in: 0..<(levels > 0 ? 9 : 5), using: &random) {
        case 0: return .null
        case 1: return JSONValue(Bool.random(using: &random))
        case 2, 3: return JSONValue(digits: digits()) ?? 0
        case 4: return JSONValue(text())
        case 5, 6: return JSONValue((0..<count()).map { _ in value(levels: levels - 1) })
        default:
            var members: [(key: String, value: JSONValue)] = []
            for index in 0..<count() {
                let key = isPlain ? "\(index)" : random.one(in: 4) ? "k" : text()
                members.append((key, value(levels: levels - 1)))
            }
            return JSONValue(JSONObject(members))
        }
    }

    mutating func digits() -> String {
        if isPlain {
            return switch Int.random(in: 0..<4, using: &random) {
            case 0: "\(Int8.random(in: .min ... .max, using: &random))"
            case 1: "\(Int.random(in: .min ... .max, using: &random))"
            case 2: "\(Int32.random(in: .min ... .max, using: &random)).\(Int.random(in: 0...99, using: &random))"
            default: "\(Double.random(in: -1...1, using: &random))"
            }
        }
        var digits = random.one(in: 3) ? "-" : ""
        digits += random.one(in: 4) ? "0" : "\(Int.random(in: 1...9, using: &random))\(run(24))"
        if random.one(in: 2) { digits += ".\(Int.random(in: 0...9, using: &random))\(run(24))" }
        if random.one(in: 3) {
            digits += ["e", "E", "e+", "e-", "E+", "E-"].randomElement(using: &random) ?? "e"
            digits += "\(Int.random(in: 0...9, using: &random))\(run(6))"
        }
        return digits
    }

    mutating func text() -> String {
        let pieces = [
            "a", "Z", "\"", "\\", "/", "\n", "\u{0}", "\u{1f}", "\u{7f}", "é", "e\u{301}", "\u{2028}", "😀", "\u{fffd}",
        ]
        return (0..<Int.random(in: 0...8, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
            .joined()
    }

    private mutating func run(_ longest: Int) -> String {
        (0..<Int.random(in: 0...longest, using: &random)).map { _ in "\(Int.random(in: 0...9, using: &random))" }
            .joined()
    }

    private mutating func count() -> Int {
        random.one(in: 8) ? Int.random(in: 15...40, using: &random) : Int.random(in: 0...4, using: &random)
    }
}
