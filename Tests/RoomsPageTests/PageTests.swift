import BridgeTestSupport
import Foundation
import Testing

import Rooms

/// The rooms page: its Swift stands in `OrderScreen` unchanged, and does what the page says.
@Suite(.timeLimit(.minutes(2))) struct PageTests {
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

    @Test("in exactly three of its values, which are not used, the compiler sees something to say")
    func warnings() async throws {
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let built = URL(fileURLWithPath: runner).deletingLastPathComponent()
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let sources = tests.deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")
        // What the library is made of has to be found, C modules too.
        let modules = try FileManager.default.contentsOfDirectory(atPath: sources.path).filter { $0.hasPrefix("C") }
        let folders = [built.appending(path: "Modules")] + modules.sorted().map { sources.appending(path: $0) }
        let child = try ChildProcess(
            "swiftc",
            ["-typecheck", "-swift-version", "6", "-parse-as-library"] + folders.flatMap { ["-I", $0.path] }
                + [tests.appending(path: "OrderScreen.swift").path]
        )
        let exit = try await child.wait(within: .seconds(90))
        let lines = child.output.split(separator: "\n").filter { $0.contains("OrderScreen.swift:") }
        #expect(exit == .status(0), "\(child.output)")
        #expect(lines.count == 3 && lines.allSatisfy { $0.contains(" warning: ") }, "\(child.output)")
        for value in ["RoomState", "'meta'", "'older'"] { #expect(lines.contains { $0.contains(value) }, "\(value)") }
    }

    @Test("joining: events arrive on the screen, and after leaving none do", arguments: RoomServer.Kind.allCases)
    @MainActor func joining(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        try await server.stop()
        let rt = try Realtime(url: server.url)
        let screen = OrderScreen(rt: rt, chat: rt.join("chat:1:2"))
        let joining = Task { try await screen.joining() }
        try await eventually { rt.room("order:1042") != nil }
        // Who stops waiting has its handlers still.
        joining.cancel()
        await #expect(throws: CancellationError.self) { try await joining.value }
        #expect(!screen.live)
        try await server.restart()
        try await eventually { screen.live }
        try await server.publish("order:1042", #"{"event":"updated","data":{"status":"sent"}}"#)
        try await eventually { screen.status == "sent" }
        try await server.publish("order:1042", #"{"event":"updated","data":{"total":7}}"#)
        let seen = rt.join("order:1042").events("updated")
        try await server.publish("order:1042", #"{"event":"updated","data":{"status":"there"}}"#)
        try await eventually { screen.status == "there" }
        // To its end this time.
        try await screen.joining()
        #expect(rt.room("order:1042") == nil)
        for await (data, _) in seen where data["status"] == "there" { break }
        try await server.publish("order:1042", #"{"event":"updated","data":{"status":"late"}}"#)
        try await screen.chat.ready()
        #expect(try await screen.chat.history().events.isEmpty)
        #expect(screen.status == "there")
        await rt.close()
    }

    @Test("a screen that joins and leaves has heard that it was in", arguments: RoomServer.Kind.allCases)
    @MainActor func joiningAndLeaving(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try Realtime(url: server.url)
        let screen = OrderScreen(rt: rt, chat: rt.join("chat:1:2"))
        try await screen.joining()
        #expect(screen.live && rt.room("order:1042") == nil)
        await rt.close()
    }

    @Test(
        "as async sequences: what decodes arrives on the screen, until the room is left or the task cancelled",
        arguments: RoomServer.Kind.allCases,
        ["left", "cancelled"]
    )
    @MainActor func decoded(_ kind: RoomServer.Kind, _ end: String) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try Realtime(url: server.url)
        let screen = OrderScreen(rt: rt, chat: rt.join("chat:1:2"))
        let order = rt.join("order:1042")
        try await order.ready()
        let reading = Task { await screen.decoded(order) }
        try await eventually {
            try await server.publish("order:1042", #"{"event":"updated","data":{"status":"sent"}}"#)
            return screen.status == "sent"
        }
        try await server.publish("order:1042", #"{"event":"updated","data":{"status":7}}"#)
        try await server.publish("order:1042", #"{"event":"updated","data":{"status":"there"}}"#)
        try await eventually { screen.status == "there" }
        #expect(order.skipped == 1)
        if end == "left" { order.leave() } else { reading.cancel() }
        await reading.value
        await rt.close()
    }

    @Test("paging: the newest fifty are shown, and there are older ones", arguments: RoomServer.Kind.allCases)
    @MainActor func paging(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try Realtime(url: server.url)
        let screen = OrderScreen(rt: rt, chat: rt.join("chat:1:2"))
        try await server.api.publish("chat:1:2", (1...60).map { #"{"event":"said","data":\#($0)}"# })
        try await screen.paging()
        #expect(screen.shown == (11...60).map { "said \($0) server" })
        await rt.close()
    }
}
