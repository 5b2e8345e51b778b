internal import Glibc
internal import RoomsRuntime
internal import RoomsTransport

extension Benchmark {
    /// What an event costs on its way in and out, by how many wait and how they are spread.
    func backlogs(_ table: inout Table) {
        for shape in BacklogShape.allCases { backlog(shape, &table) }
    }

    private func backlog(_ shape: BacklogShape, _ table: inout Table) {
        note("\(waiting) events \(shape.name)")
        let path = "\(folder)/backlog"
        let sample = max(1_000, waiting / 10)
        let backlog = Backlog(folder: path, rooms: shape.rooms, endpoints: ["sink"])
        backlog.start()
        measure("insert while none wait, \(shape.name)", sample, &table) { backlog.append(sample, room: shape.room) }
        backlog.append(waiting - sample, room: shape.room)
        measure("insert while all wait, \(shape.name)", sample, &table) { backlog.append(sample, room: shape.room) }
        backlog.stop()
        drain(path, shape, waiting + sample, &table)
        _ = Program("rm", ["rm", "-rf", path], log: "/dev/null").wait()
    }

    private func drain(_ path: String, _ shape: BacklogShape, _ count: Int, _ table: inout Table) {
        let sink = Sink(folder: folder, port: HeldPort())
        let backlog = Backlog(folder: path, rooms: shape.rooms, endpoints: ["sink"])
        measure("backlog \(shape.name)", count, &table) {
            backlog.start([StreamTarget(host: "127.0.0.1", port: sink.port)])
            guard sink.waitFor(count) else { fail("only \(sink.count) of \(count) arrived") }
        }
        backlog.stop()
        sink.end()
    }

    private func measure(_ name: String, _ count: Int, _ table: inout Table, _ body: () -> Void) {
        let (clock, cpu) = (Stopwatch(), Backlog.cpuMicroseconds)
        body()
        table.add(
            name,
            rate: Double(count) / clock.seconds,
            cpu: (Backlog.cpuMicroseconds - cpu) / Double(count)
        )
    }

    /// What endpoints cost that are down for a minute while 10,000 rooms wait: one where nobody listens, one that hangs up.
    func outage(_ table: inout Table) {
        note("an outage of 60 s")
        let path = "\(folder)/outage"
        let backlog = Backlog(folder: path, rooms: 10_000, endpoints: ["down", "hangs-up"])
        backlog.start()
        backlog.append(100_000) { $0 % 10_000 }
        backlog.stop()
        let (down, hangingUp) = (HeldPort(), HangingUp())
        let waiting = Backlog(folder: path, rooms: 10_000, endpoints: ["down", "hangs-up"])
        waiting.start([down.number, hangingUp.port].map { StreamTarget(host: "127.0.0.1", port: $0) })
        // Until both have filled their memory and wait.
        pause(milliseconds: 3_000)
        let (clock, cpu) = (Stopwatch(), Backlog.cpuMicroseconds)
        pause(milliseconds: 60_000)
        let share = (Backlog.cpuMicroseconds - cpu) / clock.seconds / 1e4
        waiting.stop()
        table.add("outage: % of a core while 10,000 rooms wait for two endpoints", rate: share)
        table.add("outage: connects to the one that hangs up, in 63 s", rate: Double(hangingUp.connects))
        _ = Program("rm", ["rm", "-rf", path], log: "/dev/null").wait()
    }
}

/// Accepts connections, ends each at once and counts them; on a thread of its own, for the life of the process.
final class HangingUp: Sendable {
    let port: UInt16
    private let count = Lock(0)
    private let loop = EventLoop(name: "hangs-up")

    init() {
        let held = HeldPort()
        port = held.number
        let listener = held.takeListener()
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        loop.start()
        let (loop, count) = (loop, count)
        loop.post {
            loop.watch(listener, for: .readable) { _ in
                while case let connection = accept(listener, nil, nil), connection >= 0 {
                    close(connection)
                    count.withLock { $0 += 1 }
                }
            }
        }
    }

    var connects: Int { count.withLock { $0 } }
}
