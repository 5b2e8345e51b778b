internal import Glibc
package import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

/// Reads the configuration and finds everything that is wrong with it at once.
package struct ConfigurationDecoder {
    /// Relative paths in the configuration are meant from here.
    let directory: ByteString
    let secrets: SecretSource
    let problems: ConfigurationProblems

    private static let sizeLimit = 16 << 20

    /// Reads the file at `path` and all that it names.
    package static func load(
        _ path: String,
        secrets: SecretSource = SecretSource()
    ) throws(ConfigurationError) -> BridgeConfiguration {
        let path = ByteString(path)
        let bytes: [UInt8]
        do throws(InputError) {
            bytes = try InputFile.read(path, limit: sizeLimit)
        } catch {
            // The text names the path already.
            let message = ByteString(error.message)
            let rest = message.hasPrefix(path) ? String(message.string.dropFirst(path.string.count + 1)) : error.message
            throw ConfigurationError(issues: [ConfigurationIssue(file: path, place: nil, message: rest)])
        }
        return try decode(bytes, file: path, secrets: secrets)
    }

    /// The configuration in `bytes`; `file` is what the problems name and where relative paths begin.
    package static func decode(
        _ bytes: [UInt8],
        file: ByteString,
        secrets: SecretSource
    ) throws(ConfigurationError) -> BridgeConfiguration {
        let problems = ConfigurationProblems(file: file)
        let decoder = ConfigurationDecoder(directory: Self.directory(of: file), secrets: secrets, problems: problems)
        let configuration = decoder.parse(bytes).flatMap { decoder.configuration($0) }
        let issues = problems.issues
        guard let configuration, issues.isEmpty else { throw ConfigurationError(issues: issues) }
        return configuration
    }

    private func parse(_ bytes: [UInt8]) -> ConfigurationValue? {
        let start = JSONPosition(line: 1, column: 1)
        if bytes.allSatisfy({ [0x20, 0x09, 0x0a, 0x0d].contains($0) }) {
            problems.report(at: start, "", "the file is empty, must hold a JSON object, see config.example.json")
            return nil
        }
        do throws(JSONError) {
            let document = try JSONDocument.parse(bytes)
            return ConfigurationValue(node: document.root, path: "", problems: problems)
        } catch {
            problems.report(at: error.position, "", "\(error.what), \(error.remedy)")
            return nil
        }
    }

    private func configuration(_ value: ConfigurationValue) -> BridgeConfiguration? {
        guard
            let object = value.object(
                "a JSON object, see config.example.json",
                keys: ["$schema", "servers", "endpoints", "rooms", "buffer", "log"],
                later: ["control"]
            )
        else { return nil }
        let serverEntries = entries(object, "servers", "an object such as {\"main\": {\"url\": \"wss://…\"}}")
        let endpointEntries = entries(object, "endpoints", "an object such as {\"app\": {\"url\": \"http://…\"}}")
        let servers = serverEntries.map { server($0) }
        let endpoints = endpointEntries.map { endpoint($0) }
        var table = RoomTable(
            servers: serverEntries.map(\.name),
            endpoints: endpointEntries.map(\.name),
            problems: problems
        )
        rooms(object, into: &table)
        let buffer = object["buffer"].flatMap { self.buffer($0) } ?? BufferConfiguration()
        let level = object["log"].flatMap { log($0) } ?? .info
        return BridgeConfiguration(
            servers: servers.compactMap { $0 },
            endpoints: endpoints.compactMap { $0 },
            rooms: table.rooms,
            buffer: buffer,
            logLevel: level
        )
    }

    /// The members of a map of names, at least one of them.
    private func entries(
        _ object: ConfigurationObject,
        _ key: ByteString,
        _ wanted: String
    ) -> [ConfigurationEntry] {
        guard let value = object.required(key, wanted), let entries = value.entries(wanted) else { return [] }
        if entries.isEmpty { value.reject("is empty, must be \(wanted)") }
        for entry in entries where !Self.isName(entry.name) {
            entry.reject("is not a good name, must be 1 to 64 of: letters, digits, \".\", \"_\", \"-\"")
        }
        return entries
    }

    private static func isName(_ name: ByteString) -> Bool {
        guard (1...64).contains(name.count) else { return false }
        return name.bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }

    private func buffer(_ value: ConfigurationValue) -> BufferConfiguration? {
        guard
            let object = value.object(
                "an object such as {\"max_size\": \"1GiB\"}",
                keys: ["max_size"],
                later: ["keep_delivered"]
            )
        else { return nil }
        var buffer = BufferConfiguration()
        if let size = object["max_size"]?.size(atLeast: BufferConfiguration.smallestMaxSize, written: "1GiB") {
            buffer.maxSize = size
        }
        return buffer
    }

    private func log(_ value: ConfigurationValue) -> LogLevel? {
        guard let object = value.object("an object such as {\"level\": \"info\"}", keys: ["level"]) else { return nil }
        return object["level"]?.word(of: LogLevel.configurable.map { ByteString("\($0)") })
            .flatMap { LogLevel(name: $0.string) }
    }

    // MARK: what the parts share

    /// A URL with one of the schemes; its text is not shown, a query may hold what nobody should see.
    func url(_ value: ConfigurationValue, _ schemes: [ServerURL.Scheme], _ wanted: String) -> ServerURL? {
        guard let text = value.text(wanted) else { return nil }
        let beginnings = schemes.map { ByteString("\($0.rawValue)://") }
        guard beginnings.contains(where: { text.hasPrefix($0) }) else {
            let list = beginnings.map { "\($0)" }.joined(separator: " or ")
            value.reject("does not begin with \(list), must be \(wanted)")
            return nil
        }
        do throws(ServerURL.Invalid) {
            return try ServerURL(text)
        } catch {
            value.reject("is not a good URL: \(error.message)")
            return nil
        }
    }

    /// Relative paths begin at the configuration's directory.
    func resolve(_ path: ByteString) -> ByteString {
        if path.bytes.first == UInt8(ascii: "/") || directory.isEmpty { return path }
        return ByteString(directory.bytes + [UInt8(ascii: "/")] + path.bytes)
    }

    private static func directory(of file: ByteString) -> ByteString {
        guard let slash = file.bytes.lastIndex(of: UInt8(ascii: "/")) else { return .empty }
        return ByteString(Array(slash == 0 ? file.bytes[...0] : file.bytes[..<slash]))
    }
}
