import Testing

@testable import BridgeCore

@Suite struct SuggestionTests {
    @Test(
        arguments: [
            ("ulr", "url"), ("sever", "servers"), ("concurency", "concurrency"), ("URL", "url"), ("warn", "warning"),
            ("xyz", nil), ("u", nil), ("zzzzzzzzzzzz", nil),
        ] as [(String, String?)]
    )
    func `a slip of the finger finds what was meant`(_ name: String, _ meant: String?) {
        let names = ["url", "servers", "concurrency", "warning", "error"]
        #expect(Suggestion.nearest(to: name, among: names) == meant)
    }

    @Test(arguments: [("", "abc", 3), ("abc", "abc", 0), ("ab", "ba", 1), ("kitten", "sitting", 3), ("ca", "abc", 3)])
    func `the distance counts insertions, deletions, substitutions and swaps`(_ a: String, _ b: String, _ distance: Int)
    {
        #expect(Suggestion.distance(Array(a.utf8), Array(b.utf8)) == distance)
    }
}
