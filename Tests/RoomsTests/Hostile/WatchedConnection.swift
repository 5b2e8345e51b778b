import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport

@testable import Rooms

/// A connection whose sink keeps nothing, whose log is kept, and whose pauses are short, ended with the test.
final class WatchedConnection: Sendable {
    let sink = OrderSink()
    let log = LogCatcher()
    let connection: RoomsConnection
    private let transport = TransportLoop(name: "rooms-loop")
    private let queue: LogQueue

    init(
        port: UInt16,
        rooms: [ByteString] = ["r"],
        start: RoomStart = .now,
        _ change: (inout ConnectionOptions) -> Void = { _ in }
    ) throws {
        var options = ConnectionOptions(url: try ServerURL(ByteString("ws://127.0.0.1:\(port)/")))
        options.policy.backoff = Backoff(least: .milliseconds(2), most: .milliseconds(20))
        options.webSocket.closeTimeout = .milliseconds(500)
        change(&options)
        queue = LogQueue(sink: log)
        connection = RoomsConnection(
            transport: transport,
            options: options,
            rooms: rooms.map { RoomSpecification(name: $0, start: start) },
            sink: sink,
            logger: Logger(queue: queue, level: .debug)
        )
        transport.loop.start()
        connection.start()
    }

    deinit {
        let (loop, queue) = (transport.loop, queue)
        connection.stop { loop.stop() }
        Thread.detachNewThread {
            loop.join()
            queue.close()
        }
    }

    var seen: OrderSink.Seen { sink.seen }

    /// How the last connection ended.
    func end(within limit: Duration = .seconds(10)) async throws -> String {
        try await eventually(within: limit, "the end of the connection") {
            seen.statuses.first { $0.hasPrefix("waiting") || $0.hasPrefix("terminal") }
        }
    }

    func stop() async {
        await withCheckedContinuation { continuation in connection.stop { continuation.resume() } }
    }

    func tally() async -> Tally {
        await withCheckedContinuation { continuation in
            connection.readTally { continuation.resume(returning: $0) }
        }
    }
}

/// Keeps the first thousand lines, and how many there were.
final class LogCatcher: LogSink {
    private let state = Lock((count: 0, lines: [LogRecord]()))

    func write(_ records: [LogRecord]) {
        state.withLock { state in
            state.count += records.count
            state.lines += records.prefix(max(0, 1_000 - state.lines.count))
        }
    }

    var count: Int { state.withLock { $0.count } }
    var lines: [LogRecord] { state.withLock { $0.lines } }

    /// The values of all fields of that key.
    func values(_ key: LogKey) -> [String] {
        lines.flatMap { line in line.fields.filter { $0.key == key }.map(\.value) }
    }
}
