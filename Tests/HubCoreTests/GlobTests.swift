import RoomsRuntime
import Testing

@testable import HubCore

/// Patterns of rooms, each as a real server took it.
@Suite struct GlobTests {
    static let names: [ByteString] = ["a", "b", "ab", "abc", "a*c", "[x]", "{y}", "a,b", "\\", "", "-"]

    static let patterns: [(String, [ByteString])] = [
        ("*", names), ("**", names), ("", names), ("?", ["a", "b", "\\", "-"]), ("??", ["ab"]),
        ("[ab]", ["a", "b"]), ("[!ab]", ["\\", "-"]), ("[a-b]", ["a", "b"]), ("[!a-b]*", ["[x]", "{y}", "\\", "-"]),
        ("{a,b}c", []), ("{a,ab}c", ["abc"]), ("{a*,b}", ["a", "b", "ab", "abc", "a*c", "a,b"]), ("\\*", []),
        ("a\\*c", ["a*c"]), ("[x]", []), ("\\[x\\]", ["[x]"]), ("\\{y\\}", ["{y}"]), ("}", []), ("]", []),
        ("a,b", ["a,b"]), ("{a,{b,ab}}", ["a", "b", "ab"]), ("{,a}", ["a", ""]), ("*c", ["abc", "a*c"]),
        ("[^a]", ["a"]),
        ("[ab-c]", ["a", "b", "-"]), ("[abc-]", ["a", "b", "-"]), ("[-a]", ["a", "-"]), ("{}", [""]), ("{a}", ["a"]),
        ("[*]", []), ("{a,[bx]}", ["a", "b"]), ("{a,?}", ["a", "b", "\\", "-"]), ("*,*", ["a,b"]), ("a]", []),
    ]

    @Test("a pattern fits the names it fits on a real server", arguments: patterns)
    func fits(_ pattern: String, _ expected: [ByteString]) throws {
        let glob = try Glob(ByteString(pattern))
        #expect(Self.names.filter { glob.matches($0) } == expected)
    }

    @Test(
        "what is no pattern is an internal error",
        arguments: ["[", "[]", "[a", "[a-]", "[b-a]", "[a-bc]", "[!]", "{", "{a", "{a,[}", "\\", "a\\"]
    )
    func refused(_ pattern: String) {
        #expect(throws: HubError.internalError) { try Glob(ByteString(pattern)) }
    }

    @Test("stars and braces cannot make it slow or deep")
    func hostile() throws {
        let glob = try Glob(ByteString(String(repeating: "*a", count: 100) + "b"))
        #expect(!glob.matches(ByteString(String(repeating: "a", count: 255))))
        #expect(throws: HubError.internalError) {
            try Glob(ByteString(String(repeating: "{", count: 100_000)))
        }
    }
}
