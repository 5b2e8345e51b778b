import BridgeCore
import Testing

@testable import roombridge

@Suite struct InvocationTests {
    @Test(
        arguments: [
            (["run"], .run(config: "/etc/roombridge/config.json", stateDirectory: nil, control: nil)),
            (["run", "--config", "a", "--state-dir", "b"], .run(config: "a", stateDirectory: "b", control: nil)),
            (["run", "--state-dir=b=c", "--config=a"], .run(config: "a", stateDirectory: "b=c", control: nil)),
            (["check"], .check(config: "/etc/roombridge/config.json")),
            (["check", "--config", "-"], .check(config: "-")),
            (["version"], .version), (["--version"], .version), (["help"], .help(nil)), (["-h"], .help(nil)),
            (
                ["run", "--control", "s"],
                .run(config: "/etc/roombridge/config.json", stateDirectory: nil, control: "s")
            ),
            (["help", "dead-letters"], .help(.deadLetters)), (["dead-letters", "--help"], .help(.deadLetters)),
            (["help", "run"], .help(.run)), (["run", "--config", "x", "--help"], .help(.run)),
        ] as [([String], Invocation)]
    )
    func `good command lines are understood`(_ arguments: [String], _ invocation: Invocation) throws {
        #expect(try Invocation.parse(arguments) == invocation)
    }

    @Test(
        arguments: [
            (
                [],
                "no command was given, must be one of run, check, status, dead-letters, keygen, verify, version, help"
            ),
            (
                ["start"],
                "there is no command \"start\", must be one of run, check, status, dead-letters, keygen, verify, version, help"
            ),
            (
                ["rnu"],
                "there is no command \"rnu\", must be one of run, check, status, dead-letters, keygen, verify, version, help; did you mean run?"
            ),
            (["run", "x"], "run takes no argument \"x\", it takes --config, --state-dir and --control"),
            (["run", "--confg", "x"], "run has no option \"--confg\", it takes --config, --state-dir and --control"),
            (["check", "--state-dir", "x"], "check has no option \"--state-dir\", it takes --config"),
            (["version", "-x"], "version has no option \"-x\", it takes none"),
            (["run", "--config"], "--config needs a value, such as --config PATH"),
            (["run", "--config="], "--config has an empty value, must be a path"),
            (["run", "--config", "a", "--config", "b"], "--config was given twice, must be given once"),
            (
                ["help", "me"],
                "there is no help for \"me\", must be one of run, check, status, dead-letters, keygen, verify, version, help"
            ),
        ] as [([String], String)]
    )
    func `mistakes say what would be right`(_ arguments: [String], _ message: String) {
        let error = #expect(throws: UsageError.self) { try Invocation.parse(arguments) }
        #expect(error?.message == message)
    }

    private static func letters(
        _ action: DeadLetterCommand.Action,
        _ change: (inout DeadLetterCommand) -> Void = { _ in }
    ) -> DeadLetterCommand {
        var command = DeadLetterCommand(action)
        change(&command)
        return command
    }

    @Test(
        arguments: [
            (["list"], letters(.list)),
            (["list", "--endpoint", "a", "--room=b=c"], letters(.list) { ($0.endpoint, $0.room) = ("a", "b=c") }),
            (["show", "7", "--control", "s"], letters(.show(7)) { ($0.numbers, $0.socket) = ([7], "s") }),
            (["retry", "7", "9"], letters(.retry(inOrder: true)) { $0.numbers = [7, 9] }),
            (["retry", "--all", "--out-of-order"], letters(.retry(inOrder: false))),
            (["export", "--state-dir", "d", "--all"], letters(.export) { $0.stateDirectory = "d" }),
            (["purge", "--room", "r"], letters(.purge) { $0.room = "r" }),
        ] as [([String], DeadLetterCommand)]
    )
    func `good dead-letters lines are understood`(_ arguments: [String], _ command: DeadLetterCommand) throws {
        #expect(try Invocation.parse(["dead-letters"] + arguments) == .deadLetters(command))
    }

    @Test(
        arguments: [
            ([], "dead-letters needs more, must be one of list, show, retry, export, purge"),
            (["drop"], "there is no dead-letters \"drop\", must be one of list, show, retry, export, purge"),
            (["show"], "show needs the number of one dead letter"),
            (["show", "1", "2"], "show needs the number of one dead letter"),
            (["retry"], "retry needs numbers, --endpoint, --room or --all"),
            (["purge"], "purge needs numbers, --endpoint, --room or --all"),
            (["purge", "--all", "3"], "--all stands beside a choice, must be one of the two"),
            (["purge", "--all", "--out-of-order"], "--out-of-order has a meaning only with retry"),
            (["retry", "x"], "\"x\" is no dead letter, must be its number"),
            (["retry", "0"], "\"0\" is no dead letter, must be its number"),
            (["list", "4"], "list takes no numbers, see: roombridge dead-letters show"),
            (
                ["list", "--endpiont", "a"],
                "dead-letters has no option \"--endpiont\", see: roombridge help dead-letters"
            ),
            (["list", "--room"], "--room needs a value"),
            (["list", "--room", "a", "--room", "b"], "--room was given twice, must be given once"),
        ] as [([String], String)]
    )
    func `mistakes behind dead-letters say what would be right`(_ arguments: [String], _ message: String) {
        let error = #expect(throws: UsageError.self) { try Invocation.parse(["dead-letters"] + arguments) }
        #expect(error?.message == message)
    }
}
