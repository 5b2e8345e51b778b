import BridgeTestSupport
import Dispatch
import Foundation
import RoomsRuntime
import Testing

import Rooms

/// Where handlers run, in which order, and when they are called no more.
@Suite(.timeLimit(.minutes(2))) struct HandlerTests {
    /// An actor of an app, on a thread of its own.
    private actor Shelf {
        nonisolated let thread: ActorThread
        private let heard: Heard

        init(_ heard: Heard, on thread: ActorThread) {
            self.heard = heard
            self.thread = thread
        }

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        func listen(to room: Room) {
            room.on("x") { data, _ in heard.add("\(data) on \(thread.place)") }
        }
    }

    @MainActor private final class Screen {
        private let heard: Heard
        private let thread: ActorThread
        private var count = 0

        init(_ heard: Heard, besides thread: ActorThread) {
            self.heard = heard
            self.thread = thread
        }

        func listen(to room: Room) {
            room.on("x") { data, _ in
                count += 1
                await Task.yield()
                heard.add("\(data) on \(thread.place)")
            }
        }
    }

    @Test(
        "a handler runs where it was registered: on the main actor, on an actor of the app, or on none",
        arguments: RoomServer.Kind.allCases
    )
    func isolation(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        let heard = Heard()
        let thread = ActorThread()
        await Screen(heard, besides: thread).listen(to: room)
        await Shelf(heard, on: thread).listen(to: room)
        room.on("x") { data, _ in heard.add("\(data) on \(thread.place)") }
        try await room.ready()
        try await server.api.publish("order:1", (1...50).map { #"{"event":"x","data":\#($0)}"# })
        try await eventually { heard.all.count == 150 }
        // One after another, in the order in which they were registered, event by event.
        #expect(
            heard.all
                == (1...50).flatMap { ["\($0) on the main actor", "\($0) on the actor's thread", "\($0) on another"] }
        )
        await rt.close()
    }

    @Test(
        "a room's handlers are called one at a time, while those of other rooms go on",
        arguments: RoomServer.Kind.allCases
    )
    func oneAtATime(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let (slow, other) = (rt.join("order:1"), rt.join("order:2"))
        let (heard, others) = (Heard(), Heard())
        let (gate, opening) = AsyncStream<Void>.makeStream()
        slow.on("message") { data, _ in
            heard.add("begin \(data)")
            for await _ in gate { break }
            heard.add("end \(data)")
        }
        slow.onAny { _, data, _ in heard.add("then \(data)") }
        other.onAny { _, data, _ in others.add("\(data)") }
        for room in [slow, other] { try await room.ready() }
        try await server.api.publish("order:1", ["1", "2"])
        try await heard.become(["begin 1"])
        for number in 1...5 { try await server.publish("order:2", "\(number)") }
        try await others.become(["1", "2", "3", "4", "5"])
        #expect(heard.all == ["begin 1"])
        opening.yield()
        try await heard.become(["begin 1", "end 1", "then 1", "begin 2"])
        opening.yield()
        try await eventually { heard.all.last == "then 2" }
        await rt.close()
    }

    @Test(
        "who waits for a room goes on when the handlers of joined have heard of it",
        arguments: RoomServer.Kind.allCases
    )
    func joinedBeforeReady(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        for number in 1...10 {
            let heard = Heard()
            let room = rt.join("order:\(number)") { room in
                room.on("joined") { _, _ in
                    for _ in 0..<100 { await Task.yield() }
                    // Waiting here for what is so already is no deadlock.
                    try? await room.ready()
                    heard.add("joined")
                }
            }
            try await room.ready()
            #expect(heard.all == ["joined"])
        }
        await rt.close()
    }

    @Test("a handler that waits for its room waits for no handler", arguments: RoomServer.Kind.allCases)
    func readyInHandler(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let link = try MovableLink(to: server.port)
        let rt = try server.client(over: link)
        let room = rt.join("order:1")
        let heard = Heard()
        room.on("message") { _, _ in
            link.cut()
            while room.state == .joined { await Task.yield() }
            link.mend()
            try? await room.ready()
            heard.add("ready")
        }
        room.on("joined") { _, _ in heard.add("joined") }
        try await room.ready()
        try await server.publish("order:1", "1")
        try await heard.become(["joined", "ready", "joined"])
        await rt.close()
    }

    @Test("a handler that was taken away hears no more, and the others do", arguments: RoomServer.Kind.allCases)
    func off(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        let (gone, late, kept) = (Heard(), Heard(), Heard())
        let listeners = [
            room.on("message") { data, _ in gone.add("\(data)") }, room.onAny { _, data, _ in gone.add("\(data)") },
        ]
        for listener in listeners + listeners { room.off(listener) }
        let doomed = Lock<Listener?>(nil)
        room.onAny { _, data, _ in
            kept.add("\(data)")
            if data == 2 { doomed.withLock { listener in listener.map { room.off($0) } } }
        }
        let listener = room.on("message") { data, _ in late.add("\(data)") }
        doomed.withLock { $0 = listener }
        try await room.ready()
        try await server.api.publish("order:1", ["1", "2", "3"])
        try await kept.become(["1", "2", "3"])
        #expect(gone.all == [])
        // Taken away before its turn with the same event.
        #expect(late.all == ["1"])
        await rt.close()
    }

    @Test(
        "of a room that a handler leaves nothing more is handed on, not even to the next handler",
        arguments: RoomServer.Kind.allCases
    )
    func leavesInHandler(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        let heard = Heard()
        room.on("message") { data, _ in
            heard.add("first \(data)")
            if data == 3 { room.leave() }
        }
        room.onAny { _, data, _ in heard.add("second \(data)") }
        try await room.ready()
        try await server.api.publish("order:1", (1...10).map { "\($0)" })
        try await eventually { room.state == .left }
        // The room's task has come to its end when it hands on nothing of another room either.
        let others = Heard()
        let other = rt.join("order:2", others.listen)
        try await other.ready()
        try await server.publish("order:2", "1")
        try await eventually { others.all.last == "1" }
        #expect(heard.all == ["first 1", "second 1", "first 2", "second 2", "first 3"])
        await rt.close()
    }

    @Test(
        "left on the main actor, a room calls no handler there, not even one that waits for its turn already",
        arguments: RoomServer.Kind.allCases
    )
    @MainActor func leftOnItsActor(_ kind: RoomServer.Kind) async throws {
        guard let server = try await RoomServer(kind) else { return }
        let rt = try server.client()
        let room = rt.join("order:1")
        let (arrived, heard) = (Heard(), Heard())
        let tell: @Sendable (JSONValue, EventMeta) -> Void = { data, _ in arrived.add("\(data)") }
        room.on("message", tell)
        room.on("message") { data, _ in heard.add("\(data)") }
        try await room.ready()
        let publishing = Task.detached { try await server.publish("order:1", "1") }
        // The main actor is held until the event is there, and its handler waits for the main actor.
        try blockingEventually { arrived.all == ["1"] }
        let end = SystemClock.now + .milliseconds(20)
        try blockingEventually { SystemClock.now >= end }
        room.leave()
        try await publishing.value
        for _ in 0..<100 { await Task.yield() }
        #expect(heard.all == [])
        await rt.close()
    }
}

/// A thread that an actor of a test runs on.
private final class ActorThread: SerialExecutor {
    private let loop = EventLoop(name: "actor")
    private let mark = DispatchSpecificKey<Bool>()

    init() {
        loop.start()
        DispatchQueue.main.setSpecific(key: mark, value: true)
    }

    deinit {
        loop.stop()
        loop.detach()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.post { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    /// Where the caller is.
    var place: String {
        if DispatchQueue.getSpecific(key: mark) == true { return "the main actor" }
        return loop.isOnLoop ? "the actor's thread" : "another"
    }
}
