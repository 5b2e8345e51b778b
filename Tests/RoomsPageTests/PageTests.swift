import BridgeTestSupport
import Foundation
import HubCore
import LocalHTTP
import RoomsRuntime
import Testing

import Rooms

/// The rooms page: its Swift stands in `OrderScreen` unchanged, and does what the page says.
@Suite struct PageTests {
    @Test("every Swift snippet of the page stands in the sources as it is")
    func unchanged() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let page = try String(contentsOf: folder.appending(path: "rooms.md"), encoding: .utf8)
        let source = try String(contentsOf: folder.appending(path: "OrderScreen.swift"), encoding: .utf8)
        let snippets = page.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        #expect(snippets.count == 3)
        for snippet in snippets { #expect(source.contains("\n" + snippet), "\(snippet)") }
    }

    @Test("joining: events arrive on the screen, and after leaving none do")
    @MainActor func joining() async throws {
        let hub = try PageHub()
        let rt = try hub.client()
        let screen = OrderScreen(rt: rt, chat: rt.join("chat:1:2"))
        try await screen.joining()
        #expect(rt.room("order:1042") == nil)
        try await eventually { await MainActor.run { screen.live } }
        await rt.close()
    }
}

/// A hub with the page's rooms, and clients of it.
final class PageHub: Sendable {
    let port: UInt16
    private let server: HubServer
    private let queue = LogQueue(sink: StandardErrorSink(style: .plain))

    init() throws {
        var configuration = HubConfiguration.standard
        configuration.listen = ["127.0.0.1:0"]
        configuration.rooms = .configured([
            RoomRule(pattern: "order:{id}", history: 20, isPublic: true),
            RoomRule(
                pattern: "chat:{a}:{b}",
                history: 200,
                isPublic: true,
                presence: true,
                membersMay: [.history, .presence, .publish]
            ),
        ])
        server = HubServer(configuration, logger: Logger(queue: queue, level: .error))
        port = try server.start()[0]
    }

    deinit {
        server.stop()
        queue.close()
    }

    func client() throws -> Realtime {
        try Realtime(url: "ws://127.0.0.1:\(port)/connection/websocket")
    }
}
