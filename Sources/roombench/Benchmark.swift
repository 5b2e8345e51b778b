internal import Glibc

/// Measures RoomBridge beside its limit (a bare libcurl loop in C) and its peer (a Go script that keeps nothing), all in
/// one run, alternately, on one sink; prints one table.
struct Benchmark {
    enum Part: String {
        case all
        /// Only the realtime servers themselves, without the bridge.
        case hub
        /// Only the client library.
        case client
        /// Only what an event costs on its way in.
        case ingest
        /// Only what waiting events cost, by their shape.
        case backlog
        /// Only what endpoints cost that are down.
        case outage
        /// Only what lines on stream sockets cost.
        case streams
    }

    var events = 60_000
    var rounds = 3
    var rooms = 8
    /// How many events wait in the parts about waiting events.
    var waiting = 1_000_000
    var part = Part.all
    let folder: String
    let binaries: String

    static func main() {
        var arguments = CommandLine.arguments.dropFirst()
        if arguments.count == 4, arguments.first == "--join", let rooms = arguments.last.flatMap({ Int($0) }) {
            JoiningClient.run(url: CommandLine.arguments[2], auth: CommandLine.arguments[3], rooms: rooms)
        }
        guard let binaries = folderOfThisProgram() else { fail("cannot find its own folder") }
        var folder = Array("/tmp/roombench-XXXXXX".utf8CString)
        guard mkdtemp(&folder) != nil else { fail("cannot make a temporary folder") }
        let path = String(decoding: folder.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var benchmark = Benchmark(folder: path, binaries: binaries)
        while let option = arguments.popFirst() {
            if option.hasPrefix("--"), let part = Part(rawValue: String(option.dropFirst(2))) {
                benchmark.part = part
                continue
            }
            switch (option, arguments.first.flatMap { Int($0) }) {
            case ("--events", let number?) where number >= 100: benchmark.events = number
            case ("--rounds", let number?) where number >= 1: benchmark.rounds = number
            case ("--waiting", let number?) where number >= 10_000: benchmark.waiting = number
            case ("--rooms", let number?) where (1...100).contains(number): benchmark.rooms = number
            default:
                print("usage: roombench [--events 60000] [--rounds 3] [--rooms 8] [--waiting 1000000]")
                print("                 [--hub | --client | --ingest | --backlog | --outage | --streams]")
                exit(64)
            }
            arguments = arguments.dropFirst()
        }
        signal(SIGPIPE, SIG_IGN)
        benchmark.run()
        removeFolder(path)
    }

    func run() {
        print(
            "roombench: \(events) events of about 300 bytes, \(rooms) rooms, 8 requests in flight, median of \(rounds) rounds"
        )
        var table = Table()
        if part == .all || part == .backlog { backlogs(&table) }
        if part == .all || part == .outage { outage(&table) }
        if part == .all || part == .streams { streams(&table) }
        for round in 1...rounds where part != .backlog && part != .outage && part != .streams {
            note("round \(round) of \(rounds)")
            if part != .hub { ingest(&table) }
            if part == .all || part == .client { joining(&table) }
            if part == .all || part == .hub { hub(&table) }
            if part == .all { bridge(&table, round) }
        }
        if part == .all { latency(&table) }
        table.printRows()
        if part != .hub { table.printBudgets() }
    }

    private func bridge(_ table: inout Table, _ round: Int) {
        wrk(&table)
        bareLoop(&table, unix: false)
        bareLoop(&table, unix: true)
        drain(&table, round, name: "drain, unsigned", isSigned: false, unix: false)
        drain(&table, round, name: "drain, signed", isSigned: true, unix: false)
        drain(&table, round, name: "drain over Unix, signed", isSigned: true, unix: true)
        endToEnd(&table, round, name: "end to end, unsigned", isSigned: false, unix: false)
        endToEnd(&table, round, name: "end to end, signed", isSigned: true, unix: false)
        endToEnd(&table, round, name: "end to end over Unix, signed", isSigned: true, unix: true)
        peer(&table, round)
    }

    // MARK: the limit and the peer

    private func wrk(_ table: inout Table) {
        guard isInstalled("wrk") else { return note("wrk is not installed: left out") }
        let sink = Sink(folder: folder, port: HeldPort())
        writeFile(
            "\(folder)/post.lua",
            "wrk.method = 'POST'\nwrk.body = string.rep('x', 300)\nwrk.headers['content-type'] = 'application/json'\n"
        )
        let log = "\(folder)/wrk.log"
        writeFile(log, "")
        let program = Program(
            "wrk",
            ["wrk", "-t1", "-c8", "-d3s", "-s", "\(folder)/post.lua", "http://127.0.0.1:\(sink.port)/"],
            log: log
        )
        _ = program.wait()
        let line = readFile(log).split(separator: "\n").first { $0.contains("Requests/sec:") }
        guard let rate = line?.split(separator: " ").last.flatMap({ Double($0) }) else {
            fail("wrk says: \(readFile(log))")
        }
        table.add("wrk on the sink", rate: rate)
        sink.end()
    }

    private func bareLoop(_ table: inout Table, unix: Bool) {
        let sink = Sink(folder: folder, port: HeldPort())
        let log = "\(folder)/curlloop.log"
        writeFile(log, "")
        let program = Program(
            "curlloop",
            [
                "\(binaries)/curlloop", "http://127.0.0.1:\(sink.port)/hooks", unix ? sink.unixPath : "-", "\(events)",
                "8",
                "300",
            ],
            log: log
        )
        let status = program.wait()
        let text = readFile(log)
        guard status == 0, let seconds = number("seconds", in: text), let cpu = number("cpu_us", in: text) else {
            fail("curlloop failed: \(text)")
        }
        table.add(
            unix ? "bare libcurl loop in C over Unix" : "bare libcurl loop in C",
            rate: Double(events) / seconds,
            cpu: cpu / Double(events)
        )
        sink.end()
    }

    private func peer(_ table: inout Table, _ round: Int) {
        guard let peer = getenv("PEER_GO").map({ String(cString: $0) }) else {
            return note("PEER_GO is not set: the peer is left out")
        }
        let sink = Sink(folder: folder, port: HeldPort())
        let server = RealtimeServer(folder: folder, binaries: binaries, history: events)
        let log = "\(folder)/peer.log"
        writeFile(log, "")
        let program = Program(
            "peer-go",
            [
                peer, "-url", server.url, "-sink", "http://127.0.0.1:\(sink.port)/hooks", "-rooms", "\(rooms)",
                "-events",
                "\(events + 1)",
            ],
            log: log
        )
        program.waitFor("joined")
        let cpu = program.cpuMicroseconds
        let clock = Stopwatch()
        server.publish(events, rooms: rooms)
        guard sink.waitFor(events) else { fail("the peer delivered only \(sink.count)") }
        table.add(
            "end to end, Go peer (keeps nothing) on \(server.name)",
            rate: Double(events) / clock.seconds,
            cpu: (program.cpuMicroseconds - cpu) / Double(events),
            memory: program.memory
        )
        program.end(SIGKILL)
        server.end()
        sink.end()
    }

    // MARK: RoomBridge

    private func endToEnd(_ table: inout Table, _ round: Int, name: String, isSigned: Bool, unix: Bool) {
        let sink = Sink(folder: folder, port: HeldPort())
        let server = RealtimeServer(folder: folder, binaries: binaries, history: events)
        let bridge = BridgeRun(
            folder: folder,
            binaries: binaries,
            name: "e\(round)\(isSigned)\(unix)",
            server: server.url,
            target: unix ? .unix(sink.unixPath) : .tcp(sink.port),
            rooms: rooms,
            isSigned: isSigned
        )
        bridge.start()
        let cpu = bridge.cpuMicroseconds
        let clock = Stopwatch()
        server.publish(events, rooms: rooms)
        guard sink.waitFor(events) else { fail("only \(sink.count) of \(events) arrived; see \(folder)") }
        table.add(
            "\(name), durable, on \(server.name)",
            rate: Double(events) / clock.seconds,
            cpu: (bridge.cpuMicroseconds - cpu) / Double(events),
            memory: bridge.memory
        )
        bridge.end()
        server.end()
        sink.end()
    }

    /// The backlog is taken in while nobody listens at the endpoint; then the bridge starts again beside a sink.
    private func drain(_ table: inout Table, _ round: Int, name: String, isSigned: Bool, unix: Bool) {
        let held = HeldPort()
        let server = RealtimeServer(folder: folder, binaries: binaries, history: events)
        let bridge = BridgeRun(
            folder: folder,
            binaries: binaries,
            name: "d\(round)\(isSigned)\(unix)",
            server: server.url,
            target: unix ? .unix("\(folder)/sink.sock") : .tcp(held.number),
            rooms: rooms,
            isSigned: isSigned
        )
        unlink("\(folder)/sink.sock")
        bridge.start()
        server.publish(events, rooms: rooms)
        bridge.program?.waitUntilIdle()
        bridge.end()
        let sink = Sink(folder: folder, port: held)
        let clock = Stopwatch()
        bridge.start()
        guard sink.waitFor(1) else { fail("nothing arrived; see \(folder)") }
        let (first, cpu, begin) = (sink.count, bridge.cpuMicroseconds, clock.seconds)
        guard sink.waitFor(events) else { fail("only \(sink.count) of \(events) arrived; see \(folder)") }
        let drained = Double(events - first)
        table.add(
            "\(name), durable",
            rate: drained / (clock.seconds - begin),
            cpu: (bridge.cpuMicroseconds - cpu) / drained,
            memory: bridge.memory
        )
        bridge.end()
        server.end()
        sink.end()
    }

    // MARK: small things

    func note(_ text: String) {
        let line = Array("\(text)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
    }

    private func number(_ key: String, in json: String) -> Double? {
        guard let part = json.split(separator: "\"\(key)\":").dropFirst().first else { return nil }
        return Double(part.prefix { $0.isNumber || $0 == "." })
    }

    private func isInstalled(_ program: String) -> Bool {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }

    private static func folderOfThisProgram() -> String? {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return nil }
        let path = String(decoding: buffer[0..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return path.lastIndex(of: "/").map { String(path[..<$0]) }
    }

    private static func removeFolder(_ path: String) {
        _ = Program("rm", ["rm", "-rf", path], log: "/dev/null").wait()
    }
}
