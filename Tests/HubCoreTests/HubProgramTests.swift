import BridgeTestSupport
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
        #expect(run("--help").out == [HubProgram.help] && run("--help").status == 0)
        #expect(run("--version").out == ["roomhub 0.1.0"])
    }

    @Test(
        "arguments that are none",
        arguments: [
            ["--nonsense"], ["file.json"], ["--config"], ["--listen"], ["--listen", "8000"], ["--listen", "host:1"],
        ]
    )
    func usage(_ arguments: [String]) {
        var errors: [String] = []
        #expect(HubProgram.run(arguments, say: { _ in }, complain: { errors.append($0) }) == 64)
        #expect(errors.count == 1 && errors[0].contains("Try roomhub --help."))
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
        #expect(run("--config", folder.file("absent")).status == 66)
    }

    @Test("only --listen opens the hub to other machines")
    func loopbackOnly() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write(#"{"listen": ["127.0.0.1:0", "0.0.0.0:0"]}"#, to: "hub.json")
        let result = run("--config", path)
        #expect(result.status == 78)
        #expect(result.errors.count == 1 && result.errors[0].contains("0.0.0.0:0 is not loopback"))
    }
}
