internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

/// One server, one receiver, and a bridge that was killed behind three events of the room `shop`.
///
/// Their answers were old enough for the settlements to be on disk: nothing of them comes again.
struct KilledScene {
    let server: ScriptedServer
    let receiver: RecordingReceiver
    let bridge: BridgeProcess

    init(_ server: ScriptedServer) async throws {
        let receiver = try RecordingReceiver()
        var setup = BridgeSetup(url: server.url)
        setup.add(endpoint: "test", for: receiver.address, rooms: ["shop"])
        let bridge = try BridgeProcess(setup)
        try await bridge.start()
        try await bridge.eventually("the room joined") { server.hasJoined("shop") }
        for number in 1...3 { server.publish(Array("\(number)".utf8), to: "shop") }
        try await bridge.eventually("three events") { receiver.acceptedCount == 3 }
        let answered = try #require(receiver.requests.last?.answered)
        try await eventually("a quarter of a second") { SystemClock.now - answered > RunChecker.window }
        _ = try await bridge.kill()
        (self.server, self.receiver, self.bridge) = (server, receiver, bridge)
    }
}
