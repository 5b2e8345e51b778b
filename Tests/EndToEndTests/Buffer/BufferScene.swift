internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

/// A hub, receivers by the name of their endpoint, and a bridge whose configuration changes from life to life.
final class BufferScene {
    let hub: HubProcess
    let receivers: [String: RecordingReceiver]
    let bridge: BridgeProcess
    private let api: ServerAPI

    /// `setup` gets the hub's URL; nothing is started but the hub.
    init(
        _ names: [String],
        environment: [String: String] = [:],
        _ setup: (inout BridgeSetup, [String: RecordingReceiver]) -> Void
    ) async throws {
        hub = try HubProcess()
        try await hub.start()
        api = ServerAPI(port: hub.port, key: RealtimeServers.apiKey)
        receivers = try Dictionary(uniqueKeysWithValues: names.map { ($0, try RecordingReceiver()) })
        var first = BridgeSetup(url: hub.webSocketURL)
        setup(&first, receivers)
        bridge = try BridgeProcess(first, environment: environment)
    }

    subscript(name: String) -> RecordingReceiver {
        get throws { try #require(receivers[name]) }
    }

    /// Ends this life and begins the next one with another configuration.
    func restart(_ setup: (inout BridgeSetup, [String: RecordingReceiver]) -> Void) async throws {
        #expect(try await bridge.terminate() == .status(0), "\(bridge.log)")
        var next = BridgeSetup(url: hub.webSocketURL)
        setup(&next, receivers)
        try bridge.configure(next)
        try await bridge.start()
    }

    func publish(_ room: String, _ data: String...) async throws {
        try await publish(room, data)
    }

    func publish(_ room: String, _ data: [String]) async throws {
        try await api.publish(room, data)
    }

    /// The offsets of a room that the endpoint accepted, in order.
    func offsets(_ name: String, _ room: String) throws -> [String] {
        try self[name].requests
            .filter { $0.status == 200 && $0["roombridge-room"] == room }
            .compactMap { $0["roombridge-offset"] }
    }

    func expect(
        _ name: String,
        _ room: String,
        has offsets: ClosedRange<Int>,
        within limit: Duration = .seconds(20)
    ) async throws {
        try await bridge.eventually(within: limit, "\(offsets) of \(room) at \(name)") {
            try self.offsets(name, room).count >= offsets.count
        }
        #expect(try self.offsets(name, room) == offsets.map { "\($0)" }, "\(name) \(room)")
    }

    func lines(_ text: String) -> [Substring] {
        bridge.log.split(separator: "\n").filter { $0.contains(text) }
    }

    func close() async throws {
        #expect(try await bridge.terminate() == .status(0), "\(bridge.log)")
        try await hub.stop()
    }
}
