internal import RoomsRuntime
internal import RoomsWire

extension Benchmark {
    /// Publications in, in requests of 100, and out to one subscriber: our hub, and the real server where it is at hand.
    ///
    /// The hub must never be what the other figures measure.
    func hub(_ table: inout Table) {
        let servers = RealtimeServer.centrifugo == nil ? [true] : [true, false]
        for (size, format) in [(30, WireFormat.protobuf), (300, .protobuf), (3_000, .protobuf), (300, .json)] {
            for isHub in servers { hub(&table, size: size, format: format, isHub: isHub) }
        }
    }

    private func hub(_ table: inout Table, size: Int, format: WireFormat, isHub: Bool) {
        let server = RealtimeServer(folder: folder, binaries: binaries, history: 100, isHub: isHub)
        let subscriber = CountingSubscriber(port: server.port, room: "order:0", format: format)
        // Made before, so that making them is not measured.
        let head = #"{"publish":{"channel":"order:0","data":{"text":""#
        let filler = String(repeating: "x", count: max(1, size - 11))
        let command = head + filler + "\"}}}"
        let batch = Array(
            ("{\"commands\":[" + Array(repeating: command, count: 100).joined(separator: ",") + "]}").utf8
        )
        let batches = max(1, events / 100)
        server.publish(batch: batch)
        guard subscriber.waitFor(100) else { fail("\(server.name): nothing arrives") }
        let cpu = server.cpuMicroseconds
        let clock = Stopwatch()
        for _ in 0..<batches { server.publish(batch: batch) }
        let wanted = 100 + batches * 100
        guard subscriber.waitFor(wanted) else { fail("\(server.name): only \(subscriber.count) of \(wanted) arrived") }
        let seconds = clock.seconds
        table.add(
            "\(server.name), \(size) bytes, \(format == .json ? "JSON" : "protobuf"), in and out to one subscriber",
            rate: Double(batches * 100) / seconds,
            cpu: (server.cpuMicroseconds - cpu) / Double(batches * 100),
            memory: server.memory
        )
        subscriber.end()
        server.end()
    }
}
