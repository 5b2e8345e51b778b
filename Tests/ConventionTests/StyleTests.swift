import Foundation
import Testing

/// The house rules that a machine can check; each message tells the cure.
@Suite struct StyleTests {
    static let all = SourceTree.sources + SourceTree.tests

    @Test(arguments: all)
    func `a file is named after what it holds and is short`(_ file: SourceTree.File) {
        #expect(file.lines.count <= 700, "\(file.path) has \(file.lines.count) lines: split it by subject")
        let main = file.name.split(separator: "+").first.map(String.init) ?? ""
        if file.path.hasPrefix("Sources/"), file.name != "main" {
            let types = file.text.matches(of: /(?:struct|class|enum|actor|protocol|extension|typealias) (\w+)/)
            #expect(
                types.contains { String($0.1).hasPrefix(main) || main.hasPrefix($0.1) || plural(main) == $0.1 },
                "\(file.path): no type is named \(main); name the file after its main type, or Type+Topic.swift"
            )
        }
    }

    private func plural(_ name: String) -> String { name.hasSuffix("s") ? String(name.dropLast()) : name }

    @Test(arguments: all)
    func `nothing is called by a word that says nothing`(_ file: SourceTree.File) {
        let pattern = /\b(?:struct|class|enum|actor|protocol) (\w*(?:Utils?|Helpers?|Manager)|Common|Misc|Types)\b/
        let wrong = file.code.compactMap { $0.line.firstMatch(of: pattern)?.1 }
        #expect(wrong.isEmpty, "\(file.path): \(wrong): name the thing by what it is")
        #expect(file.name.firstMatch(of: /(Utils?|Helpers?|Manager)$/) == nil, "\(file.path): name it by what it is")
    }

    @Test(arguments: SourceTree.sources)
    func `what the compiler cannot check says who guards it`(_ file: SourceTree.File) {
        for (number, line) in file.code {
            guard line.firstMatch(of: /@unchecked Sendable|nonisolated\(unsafe\)|\bUnmanaged\b/) != nil else {
                continue
            }
            // One note may stand above a statement that spreads over a few lines.
            let above = file.lines[max(0, number - 4)..<(number - 1)]
            #expect(
                above.contains { $0.contains("// Safety:") },
                "\(file.path):\(number): put a line `// Safety: …` above that names the guard"
            )
        }
    }

    @Test(arguments: SourceTree.sources)
    func `libraries own no tasks, no dispatch queues and no unbounded streams`(_ file: SourceTree.File) {
        for (number, line) in file.code {
            #expect(
                line.firstMatch(of: /\bTask\s*\{|Task\.detached/) == nil || file.name == "main",
                "\(file.path):\(number): work belongs to a loop or to its caller's task"
            )
            #expect(
                line.firstMatch(of: /\bDispatch(Queue|Semaphore|Group)\b/) == nil,
                "\(file.path):\(number): threads are EventLoops"
            )
            #expect(
                line.firstMatch(of: /\bAsync(Throwing)?Stream\b/) == nil || file.text.contains("bufferingPolicy"),
                "\(file.path):\(number): say the bufferingPolicy"
            )
        }
    }

    @Test(arguments: SourceTree.sources)
    func `only commands print`(_ file: SourceTree.File) {
        let commands: Set<String> = ["roombridge", "roomhub", "roombench"]
        for (number, line) in file.code where !commands.contains(file.target) {
            #expect(line.firstMatch(of: /\bprint\(/) == nil, "\(file.path):\(number): log through Logger")
        }
    }

    @Test(arguments: SourceTree.tests.filter { $0.target != "ConventionTests" })
    func `tests do not sleep`(_ file: SourceTree.File) {
        for (number, line) in file.code where !line.contains("// eventually") {
            #expect(
                line.firstMatch(of: /\b(usleep|nanosleep|sleep)\(|Task\.sleep|Thread\.sleep/) == nil
                    || file.name == "Eventually",
                "\(file.path):\(number): await an event, pass time in, or use eventually"
            )
        }
    }

    @Test(arguments: all)
    func `nothing unfinished is left behind`(_ file: SourceTree.File) {
        guard file.target != "ConventionTests" else { return }
        for (index, line) in file.lines.enumerated() {
            #expect(
                line.firstMatch(of: /\b(TODO|FIXME|XXX|HACK)\b/) == nil,
                "\(file.path):\(index + 1): finish it or file it"
            )
            #expect(
                line.firstMatch(of: #/^\s*//\s*(let|var|func|return|if|guard|import) .*[{=(]/#) == nil,
                "\(file.path):\(index + 1): commented-out code; git remembers it"
            )
        }
    }

    @Test func `only the library product is public`() {
        for file in SourceTree.sources where file.target != "Rooms" {
            let wrong = file.code.first { $0.line.firstMatch(of: /^\s*public\b/) != nil }
            #expect(wrong == nil, "\(file.path):\(wrong?.number ?? 0): between our targets it is `package`")
        }
    }

    @Test func `the architecture page names only what is there`() {
        let page = SourceTree.read("docs/ARCHITECTURE.md")
        let names = Set(SourceTree.sources.map(\.name)).union(SourceTree.sources.map(\.target))
        for match in page.matches(of: /`(\w+)\/(\w+)`/) {
            #expect(names.contains(String(match.2)), "docs/ARCHITECTURE.md names \(match.0), which is not there")
        }
        #expect(!page.isEmpty)
    }
}
