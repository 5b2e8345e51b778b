/// RoomBridge itself in a run: its configuration, its state directory and its process.
final class BridgeRun {
    enum Target {
        case tcp(UInt16)
        case unix(String)
    }

    private let command: [String]
    private let log: String
    private(set) var program: Program?

    init(folder: String, binaries: String, name: String, server: String, target: Target, rooms: Int, isSigned: Bool) {
        let endpoint =
            switch target {
            case .tcp(let port): "\"url\": \"http://127.0.0.1:\(port)/hooks\""
            case .unix(let path): "\"unix\": \"\(path)\", \"protocol\": \"http\", \"path\": \"/hooks\""
            }
        if isSigned { writeFile("\(folder)/signing", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") }
        let signing = isSigned ? ", \"signing\": [{\"file\": \"\(folder)/signing\"}]" : ""
        let entries = (0..<rooms).map { "{\"room\": \"order:\($0)\", \"to\": [\"sink\"]}" }
        writeFile(
            "\(folder)/\(name).json",
            """
            {"servers": {"main": {"url": "\(server)"}}, "endpoints": {"sink": {\(endpoint)\(signing)}},
             "rooms": [\(entries.joined(separator: ",\n"))]}
            """
        )
        log = "\(folder)/\(name).log"
        command = [
            "\(binaries)/roombridge", "run", "--config", "\(folder)/\(name).json", "--state-dir",
            "\(folder)/\(name)-state",
        ]
    }

    /// Starts it and waits until it has joined its rooms.
    func start() {
        writeFile(log, "")
        let program = Program("roombridge", command, log: log)
        self.program = program
        program.waitFor("joined")
    }

    func end() {
        program?.end()
        program = nil
    }

    var cpuMicroseconds: Double { program?.cpuMicroseconds ?? 0 }
    var memory: (anonymous: Int, peak: Int) { program?.memory ?? (0, 0) }
}
