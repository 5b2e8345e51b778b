import RoomsRuntime
import Testing

@testable import HubCore

@Suite struct RoomPatternTests {
    @Test(
        "a pattern fits the names it should and no others",
        arguments: [
            ("shop", "shop", true), ("shop", "shops", false), ("shop", "sho", false), ("shop", "", false),
            ("order:{id}", "order:1042", true), ("order:{id}", "order:", false), ("order:{id}", "order", false),
            ("order:{id}", "order:1:2", false), ("order:{id}", "order:ü", true), ("order:{id}", "xorder:1", false),
            ("chat:{a}:{b}", "chat:x:y", true), ("chat:{a}:{b}", "chat:x", false),
            ("chat:{a}:{b}", "chat:x:y:z", false),
            ("chat:{a}:{b}", "chat::y", false), ("log:{all*}", "log:", true), ("log:{all*}", "log:a:b:c", true),
            ("log:{all*}", "log", false), ("{all*}", "", true), ("{all*}", "anything:at all", true),
            ("{a}x{b}", "axxb", true), ("{a}x{b}", "xb", false), ("{a}x{b}", "xxx", true), ("{a}{b}", "a", false),
            ("{a}{b}", "ab", true),
        ]
    )
    func fits(_ pattern: String, _ name: String, _ expected: Bool) throws {
        #expect(try RoomPattern(ByteString(pattern)).matches(ByteString(name)) == expected)
    }

    @Test("a long name of many possible splits is decided at once", .timeLimit(.minutes(1)))
    func manySplits() throws {
        let pattern = try RoomPattern(ByteString(String(repeating: "{x}", count: 16) + "!"))
        #expect(!pattern.matches(ByteString(String(repeating: "a", count: 255))))
    }

    @Test(
        "a pattern that cannot be says what would be right",
        arguments: ["", "order:{id", "order:id}", "order:{}", "order:{a b}", "{all*}:x", "{*}", "{a{b}}"]
    )
    func refused(_ pattern: String) {
        #expect(throws: PatternError.self) { try RoomPattern(ByteString(pattern)) }
    }

    @Test(
        "two patterns of the same weight clash only when a name fits both",
        arguments: [
            ("order:{id}", "order:{no}", true), ("order:{id}", "chats:{id}", false), ("{a}:x", "x:{a}", true),
            ("{a}:x", "y{b}", false), ("a{x*}", "{x}a", true), ("shop", "shop", true), ("{a}", "{a*}", true),
            ("{a}:{b}", "{a}{b}:", false), ("{a}:{b}", "{a}:{b*}", true),
        ]
    )
    func clashes(_ first: String, _ second: String, _ expected: Bool) throws {
        let rules = try [first, second].map { RoomRule(pattern: try RoomPattern(ByteString($0))) }
        #expect((RoomRule.clash(in: rules) != nil) == expected)
        #expect((RoomRule.clash(in: rules.reversed()) != nil) == expected)
    }

    @Test("the pattern with the most literal bytes wins, wherever it stands")
    func mostLiteralWins() throws {
        let rules = ["{all*}", "order:{id}", "order:vip{id}", "order:vip1"].enumerated().map { index, text in
            RoomRule(pattern: RoomPattern(stringLiteral: text), history: index)
        }
        for rules in [rules, rules.reversed()] {
            let hub = HubState(rules: rules)
            let found = ["order:vip1", "order:vip2", "order:7", "shop"].map {
                hub.registry.rule(for: ByteString($0))?.history
            }
            #expect(found == [3, 2, 1, 0])
        }
    }

    @Test("patterns that nobody could tell apart in time are refused: too long, or of too many labels")
    func bounded() {
        #expect(throws: PatternError.self) { try RoomPattern(ByteString([UInt8](repeating: 0x61, count: 256))) }
        #expect(throws: PatternError.self) { try RoomPattern(ByteString(String(repeating: "{a}", count: 17))) }
        let most = try? RoomPattern(ByteString(String(repeating: "{a}:", count: 16)))
        #expect(most?.overlaps("{a}:{b*}") == true && most?.overlaps("x{b*}") == true)
    }

    @Test(
        "two patterns overlap when some name fits both, whatever they begin with",
        arguments: [
            ("order:{id}", "order:1", true), ("order:{id}", "orders:{id}", false), ("a{x}", "{x}b", true),
            ("a", "a", true), ("a", "b", false), ("{x*}", "a:b", true), ("a:{x}", "a:{x}:{y}", false),
            ("a{x}c", "ab{x*}", true), ("ab{x}", "a{x}", true), ("abc", "ab{x}", true), ("ab", "ab{x}", false),
        ] as [(ByteString, ByteString, Bool)]
    )
    func overlap(_ left: ByteString, _ right: ByteString, _ expected: Bool) throws {
        let (left, right) = (try RoomPattern(left), try RoomPattern(right))
        #expect(left.overlaps(right) == expected && right.overlaps(left) == expected)
    }
}
