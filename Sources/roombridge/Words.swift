/// Options as `--name VALUE` or `--name=VALUE`, flags, and the rest.
struct Words {
    private(set) var values: [String: [String]] = [:]
    private(set) var flags: Set<String> = []
    private(set) var rest: [String] = []

    init(_ arguments: [String], of command: String, valued: [String], flags known: [String]) throws(UsageError) {
        var arguments = arguments[...]
        while let argument = arguments.popFirst() {
            guard argument.hasPrefix("-"), argument != "-" else {
                rest.append(argument)
                continue
            }
            if known.contains(argument) {
                flags.insert(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard valued.contains(parts[0]) else {
                throw UsageError("\(command) has no option \"\(parts[0])\", see: roombridge help \(command)")
            }
            guard let value = parts.count == 2 ? parts[1] : arguments.popFirst(), !value.isEmpty else {
                throw UsageError("\(parts[0]) needs a value")
            }
            values[parts[0], default: []].append(value)
        }
    }

    /// An option that may stand there once.
    func one(_ name: String) throws(UsageError) -> String? {
        let given = values[name] ?? []
        guard given.count <= 1 else { throw UsageError("\(name) was given twice, must be given once") }
        return given.first
    }
}
