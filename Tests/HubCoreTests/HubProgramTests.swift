import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import HubCore

/// The program up to the point where it would serve.
@Suite struct HubProgramTests {
    private func run(_ arguments: String...) -> (status: Int32, out: [String], errors: [String]) {
        var (out, errors): ([String], [String]) = ([], [])
        let status = HubProgram.run(arguments, say: { out.append($0) }, complain: { errors.append($0) })
        return (status, out, errors)
    }

    @Test("help and version go to standard output")
    func help() {
        #expect(run("--help").out == [HubHelp.text] && run("--help").status == 0)
        #expect(run("--version").out == ["roomhub 0.1.0"])
    }

    @Test(
        "arguments that are none",
        arguments: [
            (
                ["--nonsense"],
                "there is no option \"--nonsense\", only --config, --listen, --faults, --check, --help, --version"
            ),
            (["--lisen", "127.0.0.1:1"], "there is no option \"--lisen\", did you mean --listen?"),
            (["--conifg=x"], "there is no option \"--conifg\", did you mean --config?"),
            (["-v"], "there is no option \"-v\", only --config"), (["-"], "there is no option \"-\", only"),
            (["file.json"], "it takes no argument \"file.json\"; a configuration is named with --config FILE"),
            (["--config"], "--config needs a file"), (["--config="], "--config needs a file"),
            (["--config", "a", "--config", "b"], "--config was given twice"),
            (["--listen"], "--listen needs an address, write 127.0.0.1:8000 or [::1]:8000"),
            (["--listen", "8000"], "--listen needs an address, \"8000\" is none: write 127.0.0.1:8000"),
            (["--listen=host:1"], "--listen needs an address, \"host:1\" is none"),
            (["--faults"], "--faults needs a loopback address, write 127.0.0.1:8001 or [::1]:8001"),
            (["--faults", "0.0.0.0:1"], "--faults needs a loopback address, \"0.0.0.0:1\" is none: write"),
            (["--faults=[::1]:0", "--faults=[::1]:0"], "--faults was given twice"),
            (["--help=yes"], "--help takes no value"), (["--check"], "--check needs a configuration: --config FILE"),
        ] as [([String], String)]
    )
    func usage(_ arguments: [String], _ message: String) {
        var errors: [String] = []
        #expect(HubProgram.run(arguments, say: { _ in }, complain: { errors.append($0) }) == 64)
        #expect(errors.count == 1 && errors[0].hasPrefix("roomhub: \(message)"), "\(errors)")
        #expect(errors[0].hasSuffix("\nTry roomhub --help."))
    }

    @Test("mistakes of a configuration stand behind its name, one a line")
    func configuration() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("{\n \"room\": [],\n \"listen\": 7\n}", to: "hub.json")
        let result = run("--config", path)
        #expect(result.status == 78 && result.out.isEmpty)
        #expect(
            result.errors == [
                "\(path):2:2: room: nothing is called so, did you mean \"rooms\"?",
                "\(path):3:12: listen: is not a list, write [ … ]",
            ]
        )
        let absent = folder.file("absent")
        #expect(run("--config", absent) == (66, [], ["roomhub: \(absent): No such file or directory"]))
        #expect(run("--config=\(folder.path)") == (66, [], ["roomhub: \(folder.path): Is a directory"]))
    }

    @Test("--check reads the configuration and ends")
    func check() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write(#"{"rooms": [{"pattern": "shop", "public": true}]}"#, to: "hub.json")
        #expect(run("--check", "--config", path) == (0, ["\(path) is good"], []))
        let wrong = try folder.write(#"{"queue_limit": "1M"}"#, to: "wrong.json")
        let result = run("--check", "--config", wrong)
        #expect(result.status == 78 && result.errors.count == 1)
        #expect(result.errors.first?.hasPrefix("\(wrong):1:17: queue_limit: is not a whole number") == true)
    }

    @Test("only --listen opens the hub to other machines")
    func loopbackOnly() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write(#"{"listen": ["127.0.0.1:0", "0.0.0.0:80"]}"#, to: "hub.json")
        let message =
            "\(path):1:28: listen[1]: 0.0.0.0:80 is not loopback, and this server is not for production, "
            + "take it away and insist with --listen 0.0.0.0:80"
        #expect(run("--config", path) == (78, [], [message]))
    }

    @Test("help, man page and document name every option and every key", arguments: ["help", "man page", "ROOMHUB.md"])
    func documented(_ name: String) throws {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        func file(_ path: String) throws -> String {
            try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        }
        let text =
            switch name {
            case "help": HubHelp.text
            // As it is shown: without escapes of the hyphen and without fonts.
            case "man page": try file("docs/man/roomhub.1").replacingOccurrences(of: "\\-", with: "-")
            default: try file("docs/ROOMHUB.md")
            }
        let words = Set(text.split { !($0.isLetter || $0.isNumber || "_-$".contains($0)) }.map(String.init))
        let options = HubInvocation.Option.allCases.map(\.rawValue)
        let keys = [
            ConfigurationReader.keys, ConfigurationReader.roomKeys, ConfigurationReader.authKeys,
            ConfigurationReader.userKeys,
        ].flatMap { $0.map(\.string) }
        let missing = (options + keys).filter { !words.contains($0) }
        #expect(missing.isEmpty, "\(missing) are not in it")
        let unknown = words.filter { $0.hasPrefix("--") && !$0.hasPrefix("---") && !options.contains($0) }
        #expect(unknown.isEmpty, "there are no options \(unknown)")
        let statuses = ["0", "64", "66", "69", "78"].filter { !words.contains($0) }
        #expect(statuses.isEmpty, "\(statuses) are not in it")
    }

    @Test("the man page names keys as the parser does")
    func manKeys() throws {
        let path = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("docs/man/roomhub.1")
        let lines = try String(contentsOf: path, encoding: .utf8).split(separator: "\n")
        func keys(_ section: Substring) -> Set<ByteString> {
            let body = lines.drop { $0 != ".SH \(section)" }.dropFirst().prefix { !$0.hasPrefix(".SH") }
            var keys: Set<ByteString> = []
            for (mark, line) in zip(body, body.dropFirst()) where mark == ".TP" {
                let words = line.split { $0 == " " || $0 == "\"" || $0 == "," }.dropFirst()
                keys.formUnion(words.map { ByteString(String($0)) })
            }
            return keys
        }
        #expect(keys("CONFIGURATION") == ConfigurationReader.keys)
        #expect(keys("ROOMS") == ConfigurationReader.roomKeys)
        #expect(keys("AUTH") == ConfigurationReader.authKeys.union(ConfigurationReader.userKeys))
    }

    @Test("groff renders the man page without a warning")
    func manPage() async throws {
        let groff = ["/usr/bin/groff", "/usr/local/bin/groff"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        guard let groff else { return print("groff is not installed: the man page is not rendered") }
        let path = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("docs/man/roomhub.1").path
        let folder = try TemporaryDirectory()
        let child = try ChildProcess(
            "/bin/sh",
            ["-c", #""$0" -man -Tutf8 -ww "$1" 2>&1 >"$2""#, groff, path, folder.file("page")]
        )
        #expect(try await child.wait() == .status(0))
        #expect(child.output.isEmpty, "\(child.output)")
        let page = try String(contentsOfFile: folder.file("page"), encoding: .utf8)
        #expect(page.contains("messages_per_frame") || page.contains("m\u{8}m"))
    }
}
