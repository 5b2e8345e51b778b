internal import BridgeCore

extension VerifyCommand {
    private static let valued = [
        "--secret", "--config", "--endpoint", "--headers", "--body", "--received", "--tolerance",
    ]

    /// What stands behind `verify`.
    init(arguments: [String]) throws(UsageError) {
        let words = try Words(arguments, of: "verify", valued: Self.valued, flags: [])
        self.init()
        secrets = words.values["--secret"] ?? []
        (config, endpoint) = (try words.one("--config"), try words.one("--endpoint"))
        (headers, body) = (try words.one("--headers"), try words.one("--body"))
        guard words.rest.count <= 1 else {
            throw UsageError("verify takes one request, \(words.rest.count) were given")
        }
        request = words.rest.first
        if let text = try words.one("--received") {
            guard let moment = Self.moment(text) else {
                throw UsageError(
                    "--received is \"\(text)\", must be seconds since 1970 or such as 2026-11-30T02:00:00Z"
                )
            }
            received = moment
        }
        if let text = try words.one("--tolerance") {
            guard let length = Self.length(text) else {
                throw UsageError("--tolerance is \"\(text)\", must be a length of time such as 5m")
            }
            tolerance = length
        }
        try check()
    }

    private func check() throws(UsageError) {
        guard (config == nil) == (endpoint == nil) else {
            throw UsageError("--config and --endpoint need each other, must be both or none")
        }
        guard !secrets.isEmpty || config != nil else {
            throw UsageError("verify needs --secret FILE, or --config FILE with --endpoint NAME")
        }
        guard !secrets.contains(where: { $0.hasPrefix("whsec_") || $0.hasPrefix("whsk_") }) else {
            throw UsageError("a secret in a command line can be seen by everybody on this machine, must be in a file")
        }
        guard (headers == nil) == (body == nil) else {
            throw UsageError("--headers and --body need each other, must be both or none")
        }
        guard headers == nil || request == nil else {
            throw UsageError("--headers and --body are the request, \"\(request ?? "")\" must be left out")
        }
        let files = secrets + [config, headers, body].compactMap { $0 }
        let inputs = files.count { $0 == "-" } + (headers == nil && (request ?? "-") == "-" ? 1 : 0)
        guard inputs <= 1 else {
            throw UsageError("standard input can be one of the files, must not be \(inputs) of them")
        }
    }
}
