extension Benchmark {
    static let manyRooms = 10_000

    /// One app in many rooms on our own hub, with tokens from an auth route: how long it takes to join them all, and what
    /// the client needs for it.
    func joining(_ table: inout Table) {
        // One room alone shows what is not the rooms'.
        for rooms in [1, Self.manyRooms] { joining(&table, rooms: rooms) }
    }

    private func joining(_ table: inout Table, rooms: Int) {
        let server = RealtimeServer(folder: folder, binaries: binaries, history: 10, isHub: true, hasAuth: true)
        let log = "\(folder)/client.log"
        writeFile(log, "")
        let client = Program(
            "the client",
            ["\(binaries)/roombench", "--join", server.url, server.authURL, "\(rooms)"],
            log: log
        )
        client.waitFor("ready")
        let line = client.waitFor("joined")
        guard let seconds = line.split(separator: " ").last.flatMap({ Double($0) }) else {
            fail("the client says: \(line)")
        }
        let name = "client in \(rooms) \(rooms == 1 ? "room" : "rooms")"
        let cpu = client.cpuMicroseconds
        defer {
            client.end()
            server.end()
        }
        guard rooms > 1 else { return table.add("\(name), joined (s)", rate: seconds, memory: client.memory) }
        table.add("\(name), joined (s)", rate: seconds, cpu: cpu / Double(rooms), memory: client.memory)
        let clock = Stopwatch()
        server.publish(rooms, rooms: rooms)
        client.waitFor("heard")
        table.add(
            "\(name), an event in each, called handlers",
            rate: Double(rooms) / clock.seconds,
            cpu: (client.cpuMicroseconds - cpu) / Double(rooms),
            memory: client.memory
        )
    }
}
