import Testing

@testable import roombridge

@Suite struct InvocationTests {
    @Test(
        arguments: [
            (["run"], .run(config: "/etc/roombridge/config.json", stateDirectory: nil)),
            (["run", "--config", "a", "--state-dir", "b"], .run(config: "a", stateDirectory: "b")),
            (["run", "--state-dir=b=c", "--config=a"], .run(config: "a", stateDirectory: "b=c")),
            (["check"], .check(config: "/etc/roombridge/config.json")),
            (["check", "--config", "-"], .check(config: "-")),
            (["version"], .version), (["--version"], .version), (["help"], .help(nil)), (["-h"], .help(nil)),
            (["help", "run"], .help(.run)), (["run", "--config", "x", "--help"], .help(.run)),
        ] as [([String], Invocation)]
    )
    func `good command lines are understood`(_ arguments: [String], _ invocation: Invocation) throws {
        #expect(try Invocation.parse(arguments) == invocation)
    }

    @Test(
        arguments: [
            ([], "no command was given, must be one of run, check, version, help"),
            (["start"], "there is no command \"start\", must be one of run, check, version, help"),
            (["rnu"], "there is no command \"rnu\", must be one of run, check, version, help; did you mean run?"),
            (["run", "x"], "run takes no argument \"x\", it takes --config and --state-dir"),
            (["run", "--confg", "x"], "run has no option \"--confg\", it takes --config and --state-dir"),
            (["check", "--state-dir", "x"], "check has no option \"--state-dir\", it takes --config"),
            (["version", "-x"], "version has no option \"-x\", it takes none"),
            (["run", "--config"], "--config needs a value, such as --config PATH"),
            (["run", "--config="], "--config has an empty value, must be a path"),
            (["run", "--config", "a", "--config", "b"], "--config was given twice, must be given once"),
            (["help", "me"], "there is no help for \"me\", must be one of run, check, version, help"),
        ] as [([String], String)]
    )
    func `mistakes say what would be right`(_ arguments: [String], _ message: String) {
        let error = #expect(throws: UsageError.self) { try Invocation.parse(arguments) }
        #expect(error?.message == message)
    }
}
