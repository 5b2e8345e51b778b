internal import BridgeCore

extension KeygenCommand {
    /// What stands behind `keygen`.
    init(arguments: [String]) throws(UsageError) {
        let words = try Words(arguments, of: "keygen", valued: ["--out", "--show-public"], flags: ["--ed25519"])
        if let argument = words.rest.first {
            throw UsageError("keygen takes no argument \"\(argument)\", it takes --ed25519, --out and --show-public")
        }
        self.init(
            isAsymmetric: words.flags.contains("--ed25519"),
            output: try words.one("--out"),
            publicOf: try words.one("--show-public")
        )
        if publicOf != nil, isAsymmetric || output != nil {
            throw UsageError("--show-public makes no secret, must stand alone")
        }
    }
}
