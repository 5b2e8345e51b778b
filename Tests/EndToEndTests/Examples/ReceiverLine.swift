internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

/// Hub, bridge and one of the receivers, joined to a chat.
final class ReceiverLine {
    let hub: HubProcess
    let receiver: ExampleReceiver
    let bridge: BridgeProcess

    /// Nil when the interpreter is not installed and nobody insists on it.
    init?(_ language: ExampleLanguage, options: String = "") async throws {
        guard let receiver = try ExampleReceiver(language) else { return nil }
        self.receiver = receiver
        hub = try HubProcess()
        try await hub.start()
        try await receiver.start()
        var setup = BridgeSetup(url: hub.webSocketURL)
        setup.add(endpoint: "app", for: receiver.address, rooms: [EndToEnd.ReceiverExampleTests.chat], options: options)
        bridge = try BridgeProcess(setup)
        try await bridge.start()
        try await bridge.joined([EndToEnd.ReceiverExampleTests.chat])
    }

    func publish(_ request: String) async throws {
        try await hub.publish(request)
    }

    func close() async throws {
        #expect(try await bridge.terminate() == .status(0), "\(bridge.log)")
        try await receiver.stop()
        try await hub.stop()
    }
}
