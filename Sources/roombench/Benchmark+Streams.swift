internal import BridgeDelivery
internal import RoomsRuntime
internal import RoomsTransport

extension Benchmark {
    /// What an event costs that waits for a receiver on a stream socket.
    func streams(_ table: inout Table) {
        for shape in [BacklogShape.manyLanes, .fewLanes] {
            for acknowledgement in StreamAcknowledgement.allCases { stream(acknowledgement, shape, &table) }
        }
    }

    private func stream(_ acknowledgement: StreamAcknowledgement, _ shape: BacklogShape, _ table: inout Table) {
        let name = "lines drained, ack \(acknowledgement.rawValue), \(shape.name)"
        note(name)
        let path = "\(folder)/streams"
        let filled = Backlog(folder: path, rooms: shape.rooms, endpoints: ["sink"])
        let count = acknowledgement == .read && shape == .fewLanes ? 50_000 : 300_000
        filled.start()
        filled.append(count, room: shape.room)
        filled.stop()
        let sink = StreamSink(path: "\(folder)/lines.sock", acknowledgement)
        let backlog = Backlog(folder: path, rooms: shape.rooms, endpoints: ["sink"])
        let (clock, cpu) = (Stopwatch(), Backlog.cpuMicroseconds)
        backlog.start([StreamTarget(unixPath: ByteString("\(folder)/lines.sock"))], lines: acknowledgement)
        guard sink.waitFor(count) else { fail("only \(sink.count) of \(count) lines arrived") }
        table.add(
            name,
            rate: Double(count) / clock.seconds,
            cpu: (Backlog.cpuMicroseconds - cpu) / Double(count)
        )
        backlog.stop()
        _ = Program("rm", ["rm", "-rf", path], log: "/dev/null").wait()
    }
}
