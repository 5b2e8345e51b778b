internal import Glibc
internal import Rooms
internal import RoomsRuntime
internal import RoomsTransport

extension Benchmark {
    /// From the frame (as a plain subscriber of the same room sees it) to the request at the receiver, at 200 events a
    /// second; and what the bridge holds in memory before anything happens.
    func latency(_ table: inout Table) {
        let events = 1_000
        let probe = LatencyProbe()
        let server = RealtimeServer(folder: folder, binaries: binaries, history: events)
        let receiver = ProbeReceiver(probe: probe)
        let bridge = BridgeRun(
            folder: folder,
            binaries: binaries,
            name: "latency",
            server: server.url,
            target: .tcp(receiver.port),
            rooms: 1,
            isSigned: true
        )
        bridge.start()
        table.add("idle memory (MB)", rate: Double(bridge.memory.anonymous) / 1024)
        let subscriber = subscribe(probe, to: server)
        while !probe.isJoined { pause(milliseconds: 5) }
        for _ in 0..<events {
            server.publish(1, rooms: 1)
            pause(milliseconds: 5)
        }
        let deadline = Stopwatch()
        while probe.requests < events, deadline.seconds < 20 { pause(milliseconds: 5) }
        let latencies = probe.latencies
        guard latencies.count > events * 9 / 10 else { fail("latency: only \(latencies.count) of \(events) arrived") }
        let sync = syncMilliseconds()
        table.add("latency p50 beyond one sync (ms)", rate: max(0, latencies[latencies.count / 2] - sync))
        table.add("latency p99 beyond one sync (ms)", rate: max(0, latencies[latencies.count * 99 / 100] - sync))
        table.add(
            note:
                "latency: \(latencies.count) events at 200 a second, durable and signed; one fdatasync of this disk takes "
                + "\(hundredths(sync)) ms (median)"
        )
        subscriber()
        bridge.end()
        receiver.end()
        server.end()
    }

    /// Joins as a plain subscriber; the answer ends it.
    private func subscribe(_ probe: LatencyProbe, to server: RealtimeServer) -> () -> Void {
        guard let url = try? ServerURL(ByteString(server.url)) else { fail("odd URL \(server.url)") }
        let transport = TransportLoop(name: "subscriber")
        let queue = LogQueue(sink: StandardErrorSink(style: .plain))
        let sink = ProbeSink(probe: probe)
        let connection = RoomsConnection(
            transport: transport,
            options: ConnectionOptions(url: url),
            rooms: [RoomSpecification(name: "order:0", start: .now)],
            sink: sink,
            logger: Logger(queue: queue, level: .error)
        )
        transport.loop.start()
        connection.start()
        return {
            let loop = transport.loop
            connection.stop { loop.stop() }
            loop.join()
            withExtendedLifetime(sink) { queue.close() }
        }
    }

    /// The median of 100 times 4 KiB written and synced.
    private func syncMilliseconds() -> Double {
        let descriptor = open("\(folder)/sync", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4_096)
        let samples = (0..<100).map { index in
            let clock = Stopwatch()
            _ = pwrite(descriptor, page, page.count, index * page.count)
            fdatasync(descriptor)
            return clock.seconds * 1_000
        }
        return Table.median(samples)
    }
}
