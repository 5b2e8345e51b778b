import Foundation
import Testing

/// The house rules that a machine can check; each message tells the cure.
@Suite struct StyleTests {
    static let all = SourceTree.sources + SourceTree.tests

    /// Complains once for a file, naming the lines that `rule` finds wrong.
    private func expectNone(
        of file: SourceTree.File,
        _ cure: String,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ rule: (SourceTree.Line) -> Bool
    ) {
        let wrong = file.code.filter(rule).map(\.number)
        #expect(wrong.isEmpty, "\(file.path), lines \(wrong): \(cure)", sourceLocation: sourceLocation)
    }

    @Test(arguments: all)
    func `a file is named after what it holds and is short`(_ file: SourceTree.File) {
        #expect(file.lines.count <= 700, "\(file.path) has \(file.lines.count) lines: split it by subject")
        let main = file.name.split(separator: "+").first.map(String.init) ?? ""
        if file.path.hasPrefix("Sources/"), file.name != "main" {
            #expect(
                file.code.flatMap(\.declared).contains { $0.hasPrefix(main) || main.hasPrefix($0) || main == $0 + "s" },
                "\(file.path): no type is named \(main); name the file after its main type, or Type+Topic.swift"
            )
        }
    }

    @Test(arguments: all)
    func `nothing is called by a word that says nothing`(_ file: SourceTree.File) {
        let endings = ["Util", "Utils", "Helper", "Helpers", "Manager"]
        let names: Set<Substring> = ["Common", "Misc", "Types"]
        func saysNothing(_ name: Substring) -> Bool {
            names.contains(name) || endings.contains { name.hasSuffix($0) }
        }
        expectNone(of: file, "name the thing by what it is") { $0.declared.contains(where: saysNothing) }
        #expect(!saysNothing(file.name[...]), "\(file.path): name it by what it is")
    }

    @Test(arguments: SourceTree.sources)
    func `what the compiler cannot check says who guards it`(_ file: SourceTree.File) {
        expectNone(of: file, "put a line `// Safety: …` above that names the guard") { line in
            guard
                line.text.contains("@unchecked Sendable") || line.text.contains("nonisolated(unsafe)")
                    || line.has("Unmanaged")
            else { return false }
            // One note may stand above a statement that spreads over a few lines.
            let above = file.lines[max(0, line.number - 4)..<(line.number - 1)]
            return !above.contains { $0.contains("// Safety:") }
        }
    }

    @Test(arguments: SourceTree.sources)
    func `libraries own no tasks, no dispatch queues and no unbounded streams`(_ file: SourceTree.File) {
        expectNone(of: file, "work belongs to a loop or to its caller's task") {
            $0.text.contains("Task {") || $0.text.contains("Task.detached")
        }
        // An app's own async code: its handlers, and what supplies the headers of its auth route.
        let hosts: Set<String> = ["RoomInbox", "AuthRoute"]
        expectNone(of: file, "an app's async code runs in \(hosts.sorted())") {
            $0.text.contains("Task(operation") && !hosts.contains(file.name)
        }
        expectNone(of: file, "threads are EventLoops") { line in
            ["DispatchQueue", "DispatchSemaphore", "DispatchGroup"].contains(where: line.has)
        }
        expectNone(of: file, "say the bufferingPolicy") { line in
            (line.has("AsyncStream") || line.has("AsyncThrowingStream")) && !file.text.contains("bufferingPolicy")
        }
    }

    @Test(arguments: SourceTree.sources)
    func `only commands print`(_ file: SourceTree.File) {
        let commands: Set<String> = ["roombridge", "roomhub", "roomtail", "roombench"]
        guard !commands.contains(file.target) else { return }
        expectNone(of: file, "log through Logger") { $0.has("print") && $0.text.contains("print(") }
    }

    @Test(arguments: SourceTree.tests.filter { $0.target != "ConventionTests" })
    func `tests do not sleep`(_ file: SourceTree.File) {
        guard file.name != "Eventually" else { return }
        expectNone(of: file, "await an event, pass time in, or use eventually") { line in
            ["usleep(", "nanosleep(", "Task.sleep", "Thread.sleep"].contains(where: line.text.contains)
                || line.text.contains("sleep(") && line.has("sleep")
        }
    }

    @Test(arguments: all)
    func `nothing unfinished is left behind`(_ file: SourceTree.File) {
        guard file.target != "ConventionTests" else { return }
        for (index, line) in file.lines.enumerated() {
            if let mark = ["TODO", "FIXME", "XXX", "HACK"].first(where: line.contains) {
                let words = line.split { !$0.isLetter }
                #expect(!words.contains { $0 == mark }, "\(file.path):\(index + 1): finish it or file it")
            }
            guard let comment = line.range(of: "// ") else { continue }
            let words = line[comment.upperBound...].split(separator: " ")
            let isCode = ["let", "var", "func", "return", "if", "guard", "import"].contains(words.first ?? "")
            #expect(
                !(isCode && line.contains { "{}=(".contains($0) }
                    && line[..<comment.lowerBound].allSatisfy(\.isWhitespace)),
                "\(file.path):\(index + 1): commented-out code; git remembers it"
            )
        }
    }

    @Test(arguments: SourceTree.sources.filter { $0.target != "Rooms" })
    func `only the library product is public`(_ file: SourceTree.File) {
        expectNone(of: file, "between our targets it is `package`") { $0.words.first == "public" }
    }

    @Test func `the architecture page names only what is there`() {
        let page = SourceTree.read("docs/ARCHITECTURE.md")
        let names = Set(SourceTree.sources.map(\.name)).union(SourceTree.sources.map(\.target))
        let mentioned = page.matches(of: /`(\w+)\/(\w+)`/).map { String($0.2) }
        #expect(mentioned.count > 10)
        #expect(mentioned.filter { !names.contains($0) } == [], "docs/ARCHITECTURE.md names what is not there")
    }
}
