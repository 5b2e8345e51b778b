internal import BridgeTestSupport
internal import Foundation
internal import Testing

/// Man pages and completions say what the programs do.
@Suite(.timeLimit(.minutes(1))) struct ManualTests {
    private static let folder = Programs.root + "/docs/man"

    private static func text(_ page: String) throws -> String {
        try String(contentsOfFile: "\(folder)/\(page)", encoding: .utf8).replacingOccurrences(of: "\\-", with: "-")
    }

    @Test func `mandoc has nothing to say about the pages`() async throws {
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/mandoc") else { return }
        let pages = try FileManager.default.contentsOfDirectory(atPath: Self.folder).sorted()
        #expect(pages.count == 4)
        let verdict = try await Tool.run(
            "/usr/bin/mandoc",
            ["-Tlint", "-Wstyle"] + pages.map { "\(Self.folder)/\($0)" }
        )
        #expect(verdict.isDone, "\(verdict.output)")
    }

    @Test func `the page has every command and option that help has`() async throws {
        let page = try Self.text("roombridge.1")
        let commands = try await Tool.commands()
        #expect(commands.count >= 5)
        for command in commands {
            #expect(page.contains("roombridge \(command)"), "\(command)")
            for option in try await Tool.options(of: command) {
                #expect(page.contains(option), "\(command) \(option)")
            }
        }
    }

    @Test func `bash completes every command and option`() async throws {
        for (typed, wanted) in try await Self.completions() {
            let words = typed.map { "'\($0)'" }.joined(separator: " ")
            let script = """
                source deploy/completions/roombridge.bash
                COMP_WORDS=(roombridge \(words)); COMP_CWORD=\(typed.count); _roombridge; printf '%s\\n' "${COMPREPLY[@]}"
                """
            let answer = try await Tool.run("bash", ["-euc", script])
            #expect(answer.isDone)
            let offered = Set(answer.output.split(separator: "\n").map(String.init))
            #expect(wanted.isSubset(of: offered), "\(typed): \(wanted.subtracting(offered))")
        }
    }

    @Test func `zsh knows every command and option`() async throws {
        let text = try String(contentsOfFile: Programs.root + "/deploy/completions/_roombridge", encoding: .utf8)
        for (typed, wanted) in try await Self.completions() {
            for word in wanted {
                #expect(text.contains("\(word)[") || text.contains("'\(word):"), "\(typed): \(word)")
            }
        }
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/zsh") else { return }
        let syntax = try await Tool.run("/usr/bin/zsh", ["-n", "deploy/completions/_roombridge"])
        #expect(syntax.isDone, "\(syntax.output)")
    }

    /// What stands on the command line, and what may come next.
    private static func completions() async throws -> [(typed: [String], wanted: Set<String>)] {
        let commands = try await Tool.commands()
        var found: [([String], Set<String>)] = [([""], Set(commands))]
        for command in commands where command != "help" && command != "version" {
            if command == "dead-letters" {
                found.append(([command, ""], ["list", "show", "retry", "export", "purge"]))
                found.append(([command, "list", "--"], try await Tool.options(of: command)))
            } else {
                found.append(([command, "--"], try await Tool.options(of: command)))
            }
        }
        return found
    }
}
