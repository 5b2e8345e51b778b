package import HubCore
internal import LocalHTTP
internal import RoomsRuntime

/// A hub of a test, on ports of its own that it keeps over a restart.
package final class TestHub: Sendable {
    /// One for each address of the configuration.
    package let ports: [UInt16]
    private let server: Lock<HubServer>
    private let configuration: HubConfiguration
    private let queue = LogQueue(sink: StandardErrorSink(style: .plain))

    package init(_ change: (inout HubConfiguration) -> Void = { _ in }) throws {
        var configuration = HubConfiguration(
            listen: ["127.0.0.1:0"],
            apiKey: HubConfiguration.usualAPIKey,
            tokenSecret: HubConfiguration.usualTokenSecret,
            rooms: [
                RoomRule(pattern: "order:{id}", history: 2_000, isPublic: true),
                RoomRule(pattern: "few:{id}", history: 10, isPublic: true),
                RoomRule(pattern: "sealed:{id}", history: 2_000, isPublic: true, membersMay: []),
                RoomRule(pattern: "live:{id}", isPublic: true),
            ]
        )
        change(&configuration)
        let first = HubServer(configuration, logger: Logger(queue: queue, level: .error))
        ports = try first.start()
        configuration.listen = zip(configuration.listen, ports).map { $0.at(port: $1) }
        self.configuration = configuration
        server = Lock(first)
    }

    deinit {
        server.withLock { $0.stop() }
        queue.close()
    }

    package var port: UInt16 { ports[0] }

    package func stop() {
        server.withLock { $0.stop() }
    }

    /// All streams are new afterwards.
    package func restart() throws {
        let next = HubServer(configuration, logger: Logger(queue: queue, level: .error))
        try server.withLock { server in
            server.stop()
            _ = try next.start()
            server = next
        }
    }

    /// Where faults are asked for, when the configuration says so.
    package var faultPort: UInt16? { server.withLock { $0.faultAddress?.port } }

    package var api: ServerAPI { ServerAPI(port: port, key: "roomhub-api-key") }

    /// `data` is a JSON text.
    package func publish(_ room: String, _ data: String) async throws {
        try await api.publish(room, [data])
    }

    /// Ends the user's connections with that code.
    package func disconnect(user: String, code: Int = 3_001) async throws {
        let body = #"{"user":"\#(user)","disconnect":{"code":\#(code),"reason":"test"}}"#
        try await api.call("disconnect", body)
    }

    /// Asks for a fault, at the address that the configuration left open.
    package func fault(_ name: String, _ body: String) async throws {
        guard let port = faultPort else { throw NotInTime(description: "no faults are taken") }
        try await ServerAPI(port: port, key: "").call(name, body, under: "/faults")
    }
}
