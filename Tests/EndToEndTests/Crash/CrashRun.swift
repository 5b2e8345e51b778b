internal import BridgeTestSupport
internal import RoomsRuntime

/// Kills the real bridge again and again under load, restarts servers and breaks the endpoint in between, and keeps all
/// that the checker needs.
final class CrashRun {
    struct Plan: Sendable {
        var kills: Int
        /// Events released between two kills.
        var eventsPerKill: Int
        /// Cycles (from 0) in which the server is killed and started again.
        var serverRestarts: Set<Int> = []
        /// Cycles in which the endpoint is away for a while.
        var outages: Set<Int> = []
        /// Cycles after which so much is published while the bridge is away that a recovery cannot carry it.
        var absences: Set<Int> = []
        var rooms = 8
    }

    static let eventsPerAbsence = 301

    private let plan: Plan
    private let server: any RealtimeServer
    private let receiver: RecordingReceiver
    private let bridge: BridgeProcess
    private let publisher: LoadPublisher
    private var generator: SeededGenerator
    private var kills: [Kill] = []
    private var outages = 0

    init(_ plan: Plan, on server: any RealtimeServer, seed: UInt64) throws {
        self.plan = plan
        self.server = server
        generator = SeededGenerator(seed: seed)
        receiver = try RecordingReceiver()
        let rooms = (1...plan.rooms).map { "order:crash-\($0)" }
        bridge = try BridgeProcess(BridgeSetup(server, receiver: receiver, rooms: rooms, from: "earliest"))
        publisher = LoadPublisher(port: server.port, rooms: rooms, seed: generator.next())
    }

    func run() async throws -> RunReport {
        try await server.start()
        try await bridge.start()
        for cycle in 0..<plan.kills {
            publisher.release(plan.eventsPerKill)
            if plan.outages.contains(cycle) { try await breakEndpoint() }
            if plan.serverRestarts.contains(cycle) { try await restartServer() }
            let killed = try await killInFlight()
            if plan.absences.contains(cycle) {
                publisher.release(plan.rooms * Self.eventsPerAbsence)
                try await publisher.finish()
            }
            kills.append(Kill(killed: killed, restarted: SystemClock.now))
            try await bridge.start()
        }
        try await publisher.finish()
        try await quiet()
        try await flowsAgain()
        let report = try await settle()
        try await server.stop()
        return report
    }

    /// Kills it at a random moment at which the receiver holds the answer of a delivery.
    private func killInFlight() async throws -> Instant {
        let progress = receiver.count + pick(0...plan.eventsPerKill / 2)
        try await underLoad("deliveries") { receiver.count >= progress }
        receiver.holdNext(pick(1...plan.rooms))
        try await underLoad("a delivery in flight") { receiver.heldCount > 0 }
        let inFlight = receiver.heldCount
        let killed = try await bridge.kill()
        guard inFlight > 0 else { throw NothingInFlight() }
        receiver.release()
        // What the dead process had sent is read before the next one begins, however busy the machine is.
        try await underLoad("the end of what was sent before the kill") { receiver.openCount == 0 }
        return killed
    }

    private func restartServer() async throws {
        if !server.keepsStreams {
            // What the bridge has not read yet dies with the server's memory; let that be little, so that the gaps which
            // must declare it hide nothing else.
            try await publisher.finish()
            try await quiet()
            publisher.release(plan.eventsPerKill)
        }
        if pick(0...1) == 0 { try await server.kill() } else { try await server.stop() }
        try await server.start()
    }

    /// Away in one of three ways, by turns, until the bridge has noticed.
    private func breakEndpoint() async throws {
        let count = receiver.count
        let connections = receiver.connectionCount
        outages += 1
        switch outages % 3 {
        case 0:
            receiver.behave(.answer(503))
            try await underLoad("an attempt") { receiver.count > count }
        case 1:
            receiver.behave(.hangUp)
            try await underLoad("an attempt") { receiver.count > count }
        default:
            receiver.refuse()
            receiver.listen()
            try await underLoad("a new connection") { receiver.connectionCount > connections }
        }
        receiver.behave(.answer(200))
    }

    /// Waits, and publishes a little more whenever nothing arrives for a while: the backlog may have run out.
    private func underLoad(_ what: String, _ condition: () -> Bool) async throws {
        var count = receiver.count
        var since = SystemClock.now
        try await bridge.eventually(within: .seconds(20), what) {
            if receiver.count != count || SystemClock.now - since > .milliseconds(300) {
                if receiver.count == count { publisher.release(plan.rooms) }
                count = receiver.count
                since = SystemClock.now
            }
            return condition()
        }
    }

    /// What is published now arrives at once.
    private func flowsAgain() async throws {
        let count = receiver.acceptedCount
        publisher.release(plan.rooms)
        try await bridge.eventually(within: .seconds(5), "fresh events") {
            receiver.acceptedCount >= count + plan.rooms
        }
    }

    /// Waits for the end of the backlog, then judges.
    private func settle() async throws -> RunReport {
        var log = RunLog(kills: kills, allowsGaps: !server.keepsStreams && !plan.serverRestarts.isEmpty)
        (log.published, log.uncertain) = publisher.result
        let deadline = SystemClock.now + .seconds(30)
        while true {
            try await quiet()
            log.receptions = receiver.receptions()
            let report = RunChecker.check(log)
            if report.count("lost") == 0 || SystemClock.now > deadline { return report }
        }
    }

    /// Until nothing has arrived for half a second.
    private func quiet() async throws {
        var count = receiver.count
        var since = SystemClock.now
        try await eventually(within: .seconds(30), "quiet") {
            if receiver.count != count {
                count = receiver.count
                since = SystemClock.now
            }
            return SystemClock.now - since > .milliseconds(500)
        }
    }

    var bridgeLog: String { bridge.log }

    private func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    private struct NothingInFlight: Error {}
}
