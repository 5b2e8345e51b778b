internal import BridgeTestSupport
internal import CRoomsLinux
internal import Foundation
internal import RoomsRuntime

/// The real `roombridge`, with a configuration and a state folder that outlive each of its lives.
final class BridgeProcess {
    let folder: TemporaryDirectory
    var stateDirectory: String { folder.file("state") }
    private let environment: [String: String]
    private let manager: NotifySocket
    private(set) var child: ChildProcess?
    private var lives = 0

    static let signingSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    init(_ configuration: BridgeSetup, environment: [String: String] = [:]) throws {
        folder = try TemporaryDirectory()
        manager = try NotifySocket(folder.file("notify"))
        self.environment = Programs.quiet.merging(environment) { $1 }
            .merging([
                "RB_TOKEN_SECRET": RealtimeServers.tokenSecret, "RB_SIGNING": Self.signingSecret,
                "NOTIFY_SOCKET": folder.file("notify"),
            ]) { first, _ in first }
        try FileManager.default.createDirectory(atPath: stateDirectory, withIntermediateDirectories: true)
        try configure(configuration)
    }

    func configure(_ configuration: BridgeSetup) throws {
        try folder.write(configuration.text, to: "config.json")
    }

    /// Starts it and waits for READY; `shell` as for `launch`.
    func start(within limit: Duration = .seconds(10), through shell: String? = nil) async throws {
        manager.clear()
        let child = try launch(through: shell)
        try await BridgeTestSupport.eventually(within: limit, "READY of the bridge") {
            if let exit = child.exit {
                throw ChildProcess.Failure("the bridge ended with \(exit):\n\(child.output)")
            }
            return manager.received("READY=1")
        }
    }

    /// `asNobody`: as a user who owns nothing, since root may write everywhere; `shell`: commands that go before it.
    @discardableResult
    func launch(asNobody: Bool = false, through shell: String? = nil) throws -> ChildProcess {
        lives += 1
        let command = [
            Programs.bridge, "run", "--config", folder.file("config.json"), "--state-dir", stateDirectory,
        ]
        var prefix = asNobody ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
        if let shell { prefix += ["sh", "-c", shell + "exec \"$@\"", "sh"] }
        let words = prefix + command
        let child = try ChildProcess(
            words[0],
            Array(words.dropFirst()),
            environment: environment,
            output: folder.file("log.\(lives)")
        )
        self.child = child
        return child
    }

    /// kill -9, at once; the time after the signal was sent.
    func kill() async throws -> Instant {
        guard let child else { return SystemClock.now }
        child.signal(SIGKILL)
        let time = SystemClock.now
        _ = try await child.wait()
        return time
    }

    /// SIGTERM, and how it ended.
    func terminate(within limit: Duration = .seconds(10)) async throws -> ChildProcess.Exit? {
        try await child?.stop(within: limit)
    }

    /// What its present life holds in memory.
    func residentBytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(child?.pid ?? 0)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) << 10
    }

    func received(_ notification: String) -> Bool { manager.received(notification) }

    /// All that the service manager was told, in order.
    var notifications: [String] { manager.history }

    func forgetNotifications() { manager.clear() }

    /// A signal has stopped it.
    var isStopped: Bool {
        let status = try? String(contentsOfFile: "/proc/\(child?.pid ?? 0)/status", encoding: .utf8)
        return status?.contains("State:\tT") == true
    }

    /// What its present life printed.
    var log: String { child?.output ?? "" }

    func line(containing text: String, within limit: Duration = .seconds(10)) async throws -> String {
        guard let child else { return "" }
        return try await child.line(containing: text, within: limit)
    }

    /// Waits as `eventually` does; when it is not in time, the error has the journal.
    func eventually(
        within limit: Duration = .seconds(10),
        _ what: String,
        isolation: isolated (any Actor)? = #isolation,
        _ condition: () async throws -> Bool
    ) async throws {
        do {
            try await BridgeTestSupport.eventually(within: limit, what, condition)
        } catch let error as NotInTime {
            throw ChildProcess.Failure("\(error); the bridge said:\n\(log)")
        }
    }

    /// Waits until the journal says so for each room.
    func joined(_ rooms: [String], within limit: Duration = .seconds(10)) async throws {
        for room in rooms {
            try await eventually(within: limit, "\(room) joined") {
                log.split(separator: "\n").contains { $0.contains("joined") && $0.contains(room) }
            }
        }
    }
}

/// The configuration of a bridge under test.
struct BridgeSetup {
    var url: String
    var endpoints: [String: String] = [:]
    var rooms: [String] = []
    /// nil: no token.
    var user: String? = "bridge"
    /// The server's name.
    var key = "main"
    var server = ""
    var extra = ""

    init(url: String) {
        self.url = url
    }

    init(_ server: some RealtimeServer, receiver: RecordingReceiver, rooms: [String], from: String = "now") {
        url = server.webSocketURL
        add(endpoint: "test", for: receiver.address, rooms: rooms, from: from)
    }

    mutating func add(
        endpoint: String,
        for address: SocketAddress,
        rooms names: [String],
        from: String = "now",
        options: String = ""
    ) {
        let target =
            switch address {
            case .loopback(let port): #""url": "http://127.0.0.1:\#(port)/hook""#
            case .unix(let path): #""unix": "\#(path)", "protocol": "http", "path": "/hook""#
            }
        endpoints[endpoint] = #"{ \#(target), "signing": [ { "env": "RB_SIGNING" } ]\#(options) }"#
        rooms += names.map { #"{ "room": "\#($0)", "to": ["\#(endpoint)"], "from": "\#(from)" }"# }
    }

    var text: String {
        let auth = user.map { #", "auth": { "token_secret": { "env": "RB_TOKEN_SECRET" }, "user": "\#($0)" }"# } ?? ""
        let endpoints = endpoints.sorted { $0.key < $1.key }.map { "    \"\($0.key)\": \($0.value)" }
        return """
            {
              "servers": { "\(key)": { "url": "\(url)"\(auth)\(server) } },
              "endpoints": {
            \(endpoints.joined(separator: ",\n"))
              },
              "rooms": [
                \(rooms.joined(separator: ",\n    "))
              ]\(extra)
            }
            """
    }
}
