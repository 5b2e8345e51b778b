internal import BridgeCore

extension DeadLetterCommand {
    private static let actions = ["list", "show", "retry", "export", "purge"]
    private static let valued = ["--endpoint", "--room", "--control", "--state-dir"]

    /// What stands behind `dead-letters`.
    init(arguments: [String]) throws(UsageError) {
        guard let word = arguments.first, Self.actions.contains(word) else {
            let given = arguments.first.map { "there is no dead-letters \"\($0)\"" } ?? "dead-letters needs more"
            throw UsageError("\(given), must be one of \(Self.actions.joined(separator: ", "))")
        }
        var numbers: [Int64] = []
        var values: [String: String] = [:]
        var flags: Set<String> = []
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                guard let number = Int64(argument), number > 0 else {
                    throw UsageError("\"\(argument)\" is no dead letter, must be its number")
                }
                numbers.append(number)
                continue
            }
            if ["--all", "--out-of-order"].contains(argument) {
                flags.insert(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard Self.valued.contains(parts[0]) else {
                throw UsageError("dead-letters has no option \"\(parts[0])\", see: roombridge help dead-letters")
            }
            guard values[parts[0]] == nil else { throw UsageError("\(parts[0]) was given twice, must be given once") }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
                throw UsageError("\(parts[0]) needs a value")
            }
            values[parts[0]] = value
        }
        self.init(.list)
        (endpoint, room) = (values["--endpoint"], values["--room"])
        (socket, stateDirectory) = (values["--control"], values["--state-dir"])
        self.numbers = numbers
        try set(word, flags)
    }

    private mutating func set(_ word: String, _ flags: Set<String>) throws(UsageError) {
        let isChosen = !numbers.isEmpty || endpoint != nil || room != nil
        if flags.contains("--out-of-order"), word != "retry" {
            throw UsageError("--out-of-order has a meaning only with retry")
        }
        if isChosen, flags.contains("--all") {
            throw UsageError("--all stands beside a choice, must be one of the two")
        }
        switch word {
        case "show":
            guard numbers.count == 1, endpoint == nil, room == nil else {
                throw UsageError("show needs the number of one dead letter")
            }
            action = .show(numbers[0])
        case "retry", "purge":
            guard isChosen || flags.contains("--all") else {
                throw UsageError("\(word) needs numbers, --endpoint, --room or --all")
            }
            action = word == "purge" ? .purge : .retry(inOrder: !flags.contains("--out-of-order"))
        default:
            guard numbers.isEmpty else {
                throw UsageError("\(word) takes no numbers, see: roombridge dead-letters show")
            }
            action = word == "export" ? .export : .list
        }
    }
}
