internal import Glibc
internal import Rooms
internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

extension Benchmark {
    /// What one event costs on its way in: decoding the push, looking at its payload, and all of it from the socket to the
    /// sink; beside it Foundation's JSONDecoder on the same payload.
    func ingest(_ table: inout Table) {
        decoding(&table)
        scanning(&table)
        wholeIngest(&table)
        foundation(&table)
    }

    private func decoding(_ table: inout Table) {
        let count = 400_000
        let messages = (0..<PushSource.rooms).map { SamplePush.message(room: $0, offset: UInt64(1_000 + $0)) }
        var decoded = Decoded()
        let clock = ThreadClock()
        for index in 0..<count {
            messages[index % messages.count].withUnsafeBytes { decoded.take($0) }
        }
        guard decoded.bytes == count * (SamplePush.payload.utf8.count + SamplePush.roomLength) else {
            fail("the sample does not decode")
        }
        add(&table, "decoding a push of \(messages[0].count) bytes", clock, count)
    }

    private func scanning(_ table: inout Table) {
        let count = 400_000
        let payload = Payload(SamplePush.payload)
        var names = 0
        let clock = ThreadClock()
        for _ in 0..<count {
            let envelope = payload.withBytes { EventEnvelope.read(payload: $0, tagEvent: nil, tagAt: nil) }
            guard case .json = envelope.content else { fail("the sample is not JSON") }
            names &+= envelope.name.count
        }
        guard names == count * 7 else { fail("the sample has another name") }
        add(&table, "checking its payload and finding its name", clock, count)
    }

    private func wholeIngest(_ table: inout Table) {
        let count = 100_000
        let source = PushSource(events: count)
        guard let url = try? ServerURL(ByteString("ws://127.0.0.1:\(source.port)/connection/websocket")) else {
            fail("odd URL")
        }
        let transport = TransportLoop(name: "ingest")
        let queue = LogQueue(sink: StandardErrorSink(style: .plain))
        let sink = IngestSink(events: count)
        let connection = RoomsConnection(
            transport: transport,
            options: ConnectionOptions(url: url),
            rooms: (0..<PushSource.rooms).map {
                RoomSpecification(name: ByteString("order:\(1_000 + $0)"), start: .now)
            },
            sink: sink,
            logger: Logger(queue: queue, level: .error)
        )
        transport.loop.start()
        connection.start()
        let deadline = Stopwatch()
        while sink.result == nil, deadline.seconds < 30 { pause(milliseconds: 5) }
        guard let result = sink.result else { fail("the ingest came to a halt") }
        table.add(
            "whole ingest, from the socket to the sink",
            rate: Double(count) / result.seconds,
            cpu: result.cpuMicroseconds / Double(count)
        )
        let loop = transport.loop
        connection.stop { loop.stop() }
        loop.join()
        queue.close()
        source.end()
    }

    private func foundation(_ table: inout Table) {
        writeFile("\(folder)/payload", SamplePush.payload)
        let log = "\(folder)/jsondecoder.log"
        writeFile(log, "")
        let program = Program("jsondecoder", ["\(binaries)/jsondecoder", "\(folder)/payload", "100000"], log: log)
        guard program.wait() == 0,
            let cpu = readFile(log).split(whereSeparator: \.isWhitespace).last.flatMap({ Double($0) })
        else { fail("jsondecoder says: \(readFile(log))") }
        table.add("Foundation's JSONDecoder on its payload", rate: 1e6 / cpu, cpu: cpu)
    }

    private func add(_ table: inout Table, _ name: String, _ clock: ThreadClock, _ count: Int) {
        let cpu = clock.microseconds / Double(count)
        table.add(name, rate: 1e6 / cpu, cpu: cpu)
    }
}

/// Counts what was decoded.
private struct Decoded {
    var bytes = 0

    mutating func take(_ frame: UnsafeRawBufferPointer) {
        do throws(WireError) {
            try ProtobufCodec.decodeIncoming(frame) { incoming in
                guard case .publication(let publication, let channel) = incoming else { return }
                bytes &+= channel.count &+ publication.data.count
            }
        } catch {
            fail("the sample does not decode: \(error)")
        }
    }
}

/// What the calling thread has used of a core since it was made.
struct ThreadClock {
    private let start = Self.nanoseconds

    var microseconds: Double { Double(Self.nanoseconds - start) / 1_000 }

    private static var nanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

/// Looks at each event as the bridge does, and keeps time from the first one to the last.
private final class IngestSink: EventSink {
    private struct State: Sendable {
        var left: Int
        var begin: (cpu: ThreadClock, wall: Stopwatch)?
        var result: (cpuMicroseconds: Double, seconds: Double)?
        var names = 0
    }

    private let state: Lock<State>

    init(events: Int) {
        state = Lock(State(left: events))
    }

    var result: (cpuMicroseconds: Double, seconds: Double)? { state.withLock { $0.result } }

    func take(_ items: [SinkItem]) -> Intake {
        state.withLock { state in
            for case .event(_, let publication, _, _) in items {
                if state.begin == nil { state.begin = (ThreadClock(), Stopwatch()) }
                let envelope = publication.data.withBytes {
                    EventEnvelope.read(payload: $0, tagEvent: nil, tagAt: nil)
                }
                state.names &+= envelope.name.count
                state.left -= 1
                if state.left == 0, let begin = state.begin {
                    state.result = (begin.cpu.microseconds, begin.wall.seconds)
                }
            }
        }
        return .open
    }
}
