import Foundation
import Testing

/// Each line of the protocol's checklist for the client, C01 to C69, is a test with its number in front of its title.
@Suite struct ConformanceListTests {
    /// Lines that do not apply, with what shows it; docs/DECISIONS.md names each.
    static let inapplicable: [Int: String] = [:]

    static let numbers = 1...69

    /// The numbers before the colon of each title that begins with one: `C45 and C47: …`.
    private static let titled: Set<Int> = {
        var found: Set<Int> = []
        for file in SourceTree.tests where file.target != "ConventionTests" {
            for line in file.lines { found.formUnion(numbers(inTitleOf: line)) }
        }
        return found
    }()

    private static func numbers(inTitleOf line: String) -> [Int] {
        let text = line.drop { $0 == " " }
        let title: Substring
        if text.hasPrefix("@Test(\"C") {
            title = text.dropFirst(7)
        } else if text.hasPrefix("\"C") {
            // On a line of its own, behind `@Test(`.
            title = text.dropFirst()
        } else {
            return []
        }
        let head = title.prefix { $0 != ":" }
        guard head.count < title.count else { return [] }
        return head.split { !$0.isLetter && !$0.isNumber }.compactMap { word in
            word.first == "C" && word.count == 3 ? Int(word.dropFirst()) : nil
        }
    }

    @Test("a line of the checklist has a test", arguments: numbers)
    func hasTest(_ number: Int) {
        guard Self.inapplicable[number] == nil else { return }
        #expect(Self.titled.contains(number), "no test's title begins with C\(number < 10 ? "0" : "")\(number)")
    }

    @Test("what does not apply is little, and the decisions say why")
    func exceptions() {
        #expect(Self.inapplicable.count <= 3)
        let decisions = SourceTree.read("docs/DECISIONS.md")
        for number in Self.inapplicable.keys { #expect(decisions.contains("C\(number)")) }
        #expect(Self.titled.isSubset(of: Set(Self.numbers)), "there are only 69 lines")
    }

    @Test("titles are read as they are written")
    func reading() {
        #expect(Self.numbers(inTitleOf: #"    @Test("C05 and C61: large")"#) == [5, 61])
        #expect(Self.numbers(inTitleOf: #"        "C20: codes","#) == [20])
        #expect(Self.numbers(inTitleOf: #"    @Test("codes like C20: not in front")"#) == [])
        #expect(Self.numbers(inTitleOf: #"        "C20","#) == [])
    }
}
