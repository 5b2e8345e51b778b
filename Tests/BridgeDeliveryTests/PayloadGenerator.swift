import BridgeTestSupport
import RoomsRuntime

/// Makes payloads of the kinds that programs on the way like to change: seeded, so that each run has the same.
struct PayloadGenerator {
    private var random: SeededRandom

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
    }

    mutating func next() -> [UInt8] {
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            return (0..<Int.random(in: 0...64, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        case 1: return nested(Int.random(in: 1...600, using: &random))
        case 2: return random.mutated(value(depth: 3))
        case 3: return envelope()
        default: return space() + value(depth: 3) + space()
        }
    }

    private mutating func value(depth: Int) -> [UInt8] {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
        case 0: Array(pick(["null", "true", "false"]).utf8)
        case 1, 2: number()
        case 3, 4, 5: string()
        case 6: list(depth)
        default: object(depth)
        }
    }

    private mutating func list(_ depth: Int) -> [UInt8] {
        let values = (0..<Int.random(in: 0...3, using: &random)).map { _ in space() + value(depth: depth - 1) + space()
        }
        return Array("[".utf8) + (values.isEmpty ? space() : Array(values.joined(separator: [0x2c]))) + Array("]".utf8)
    }

    /// The same key may come again.
    private mutating func object(_ depth: Int) -> [UInt8] {
        let members = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            space() + Array(pick([#""a""#, #""b""#, #""\u0061""#, #""""#, #""data""#]).utf8) + space() + [0x3a]
                + space()
                + value(depth: depth - 1) + space()
        }
        return Array("{".utf8) + (members.isEmpty ? space() : Array(members.joined(separator: [0x2c])))
            + Array("}".utf8)
    }

    private mutating func envelope() -> [UInt8] {
        let isSealed = random.one(in: 3)
        let data = isSealed ? Array(pick([#""e30.x-_.y..z""#, #""\u0065""#, #"{"a":1}"#]).utf8) : value(depth: 2)
        return Array("{".utf8) + space() + Array(#""event":"updated","#.utf8) + space()
            + Array((isSealed ? #""sealed":"# : #""data":"#).utf8) + space() + data + space() + Array("}".utf8)
    }

    private mutating func number() -> [UInt8] {
        let digits = (0..<Int.random(in: 1...40, using: &random)).map { _ in
            UInt8.random(in: 0x30...0x39, using: &random)
        }
        let texts = [
            "9223372036854775807", "18446744073709551616", "1.0", "-0", "0.10", "1e400", "1E+2", "-1.50e-09", "0",
            "0.30000000000000004",
        ]
        return random.one(in: 2) ? Array(pick(texts).utf8) : [0x31] + digits
    }

    private mutating func string() -> [UInt8] {
        let pieces = [
            #"\/"#, "/", #"\u0041"#, #"\ud800"#, #"\ud83d\ude00"#, "😀", "é", "e\u{301}", #"\n"#, #"\r\n"#, #"\""#,
            #"\\"#,
            "\u{7f}", "\u{2028}", #"\u0000"#, "<&>", "plain text",
        ]
        let text = (0..<Int.random(in: 0...4, using: &random)).map { _ in pick(pieces) }.joined()
        return Array("\"\(text)\"".utf8)
    }

    private mutating func space() -> [UInt8] {
        Array(pick(["", "", "", " ", "\n", "\r\n", "\t", " \n  "]).utf8)
    }

    private mutating func nested(_ depth: Int) -> [UInt8] {
        let isObject = random.one(in: 2)
        let (open, close) = isObject ? (#"{"a":"#, "}") : ("[", "]")
        return Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
    }

    private mutating func pick(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
}
