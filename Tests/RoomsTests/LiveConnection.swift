import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import RoomsWire

@testable import Rooms

/// A sink that keeps what it got and answers what it is told to.
final class MemorySink: EventSink {
    private struct State: Sendable {
        var items: [SinkItem] = []
        var batches: [Int] = []
        var intake = Intake.open
    }

    private let state = Lock(State())

    func take(_ items: [SinkItem]) -> Intake {
        state.withLock { state in
            state.items += items
            state.batches.append(items.count)
            return state.intake
        }
    }

    func answer(_ intake: Intake) {
        state.withLock { $0.intake = intake }
    }

    var items: [SinkItem] { state.withLock { $0.items } }
    /// How many items each call brought.
    var batches: [Int] { state.withLock { $0.batches } }
    var statuses: [String] { RoomsTests.statuses(items) }

    func seen(_ room: Int = 0) -> [String] { RoomsTests.seen(items, room: room) }

    /// Events and gaps of a room, without its joins.
    func events(_ room: Int = 0) -> [String] { seen(room).filter { !$0.hasPrefix("joined") } }

    /// The payloads of a room's events.
    func payloads(_ room: Int = 0) -> [[UInt8]] {
        items.compactMap { item in
            if case .event(room, let publication, _, _) = item { return publication.data.array }
            return nil
        }
    }
}

/// A `RoomsConnection` with everything it needs, ended with the test.
final class LiveConnection: Sendable {
    let sink = MemorySink()
    let connection: RoomsConnection
    private let transport = TransportLoop(name: "rooms-loop")
    private let queue = LogQueue(sink: StandardErrorSink(style: .plain))

    init(
        port: UInt16,
        path: String = "/connection/websocket",
        rooms: [RoomSpecification],
        _ change: (inout ConnectionOptions) -> Void = { _ in }
    ) throws {
        var options = ConnectionOptions(url: try ServerURL(ByteString("ws://127.0.0.1:\(port)\(path)")))
        options.policy.backoff = Backoff(least: .milliseconds(10), most: .milliseconds(200))
        change(&options)
        connection = RoomsConnection(
            transport: transport,
            options: options,
            rooms: rooms,
            sink: sink,
            logger: Logger(queue: queue, level: .error)
        )
        transport.loop.start()
        connection.start()
    }

    deinit {
        let (loop, queue) = (transport.loop, queue)
        connection.stop { loop.stop() }
        // A server that does not answer a close takes its time: not on a thread that runs other tests.
        Thread.detachNewThread {
            loop.join()
            queue.close()
        }
    }

    /// Gives the moment at which it was done.
    @discardableResult
    func stop() async -> Instant {
        await withCheckedContinuation { continuation in
            connection.stop { continuation.resume(returning: SystemClock.now) }
        }
    }

    func tally() async -> Tally {
        await withCheckedContinuation { continuation in
            connection.readTally { continuation.resume(returning: $0) }
        }
    }
}
