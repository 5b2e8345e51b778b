import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import BridgeStore

/// Collects what the store calls out.
final class PortRecorder: Sendable {
    struct State: Sendable {
        var deliveries: [PendingDelivery] = []
        var admissions: [Bool] = []
        var failures: [StoreError] = []
    }

    private let state = Lock(State())

    var ports: StorePorts {
        StorePorts(
            committed: { deliveries in self.state.withLock { $0.deliveries += deliveries } },
            admission: { isOpen in self.state.withLock { $0.admissions.append(isOpen) } },
            failed: { error in self.state.withLock { $0.failures.append(error) } }
        )
    }

    var now: State { state.withLock { $0 } }
}

@Suite struct StoreTests {
    private let fixture: StoreFixture
    private let recorder = PortRecorder()

    init() throws {
        fixture = try StoreFixture()
    }

    private func open(maxSize: Int = 1 << 30, inboxLimit: Int = 16 << 20) throws -> (Store, StoreSnapshot) {
        var options = StoreOptions(directory: fixture.path, maxSize: maxSize)
        options.inboxLimit = inboxLimit
        let store = try fixture.store(options)
        return (store, try store.configure(rooms: Sample.rooms(2), endpoints: ["a"], routes: [[0]]))
    }

    private func settlements(_ deliveries: some Sequence<PendingDelivery>) -> [Settlement] {
        deliveries.map { Settlement(lane: $0.lane, row: $0.row, seq: $0.seq) }
    }

    @Test("appended events are committed, settled ones go, and a stop keeps the rest")
    func lifeCycle() async throws {
        let (store, setup) = try open()
        store.start(recorder.ports)
        for offset in 1...100 as ClosedRange<UInt64> {
            #expect(store.append(setup.rooms.map { Sample.append($0, offset, route: setup.routes[0]) }))
        }
        try await eventually("all are committed") { recorder.now.deliveries.count == 200 }
        store.settle(settlements(recorder.now.deliveries.prefix(150)))
        store.stop()
        #expect(store.counts.waitingRows == 50)

        let again = try fixture.ledger()
        #expect(try again.storedRows() == Array(151...200))
        let lanes = try again.configure(rooms: Sample.rooms(2), endpoints: ["a"], routes: [[0]]).lanes
        #expect(lanes.map(\.acknowledged) == [75, 75])
        #expect(lanes.map(\.waitingRows) == [25, 25])
        #expect(recorder.now.failures.isEmpty)
    }

    @Test("a stop commits what was handed in just before")
    func stopCommits() throws {
        let (store, setup) = try open()
        store.start(recorder.ports)
        for offset in 1...3_000 as ClosedRange<UInt64> {
            _ = store.append([Sample.append(setup.rooms[0], offset, route: setup.routes[0])])
        }
        store.stop()
        #expect(recorder.now.deliveries.map(\.seq) == Array(1...3_000))
        let log = fixture.path + "/store.db-wal"
        #expect(!FileManager.default.fileExists(atPath: log))
        #expect(try fixture.ledger().storedRows().count == 3_000)
    }

    @Test("a store that was never started is closed by a stop")
    func neverStarted() throws {
        let (store, _) = try open()
        store.stop()
        try fixture.store().stop()
    }

    @Test("a refill is answered behind the commits that came before it")
    func refillOrder() async throws {
        let (store, setup) = try open()
        store.start(recorder.ports)
        _ = store.append((1...10).map { Sample.append(setup.rooms[0], $0, route: setup.routes[0]) })
        try await eventually("all are committed") { recorder.now.deliveries.count == 10 }
        let answers = Lock<[RefillResult]>([])
        let request = RefillRequest(
            endpoint: setup.endpoints[0],
            wishes: [.init(room: setup.rooms[0], from: RowID(4))],
            maxRows: 100,
            maxBytes: 1 << 20,
            maxRowsPerLane: 100
        )
        store.refill(request) { result in answers.withLock { $0.append(result) } }
        let answer = try await eventually("an answer") { answers.withLock { $0.first } }
        #expect(answer.deliveries.map(\.row.rawValue) == Array(4...10))
        #expect(answer.next.map(\.from) == [RowID(11)])
        #expect(answer.lastCommitted == RowID(10))
        store.stop()
    }

    @Test("intake closes when the buffer is full and opens when a tenth of it is free")
    func fullBuffer() async throws {
        let (store, setup) = try open(maxSize: 100_000)
        store.start(recorder.ports)
        let text = String(repeating: "z", count: 9_900)
        for offset in 1...12 as ClosedRange<UInt64> {
            _ = store.append([Sample.append(setup.rooms[0], offset, route: setup.routes[0], payload: text)])
        }
        try await eventually("it closes") { recorder.now.admissions == [false] }
        #expect(!store.append([Sample.append(setup.rooms[0], 13, route: setup.routes[0])]))
        try await eventually("all are committed though") { recorder.now.deliveries.count == 13 }
        let deliveries = recorder.now.deliveries
        store.settle(settlements(deliveries[0..<2]))
        store.settle(settlements(deliveries[2..<5]))
        try await eventually("it opens") { recorder.now.admissions == [false, true] }
        #expect(store.append([Sample.append(setup.rooms[0], 14, route: setup.routes[0])]))
        store.stop()

        // Full at the start: said before anything else.
        let second = PortRecorder()
        let (full, again) = try open(maxSize: 1_000)
        full.start(second.ports)
        try await eventually("it says so") { second.now.admissions == [false] }
        #expect(!full.append([Sample.append(again.rooms[0], 15, route: again.routes[0])]))
        full.stop()
        let lines = fixture.lines.filter { $0.contains(" the buffer ") && !$0.contains("an endpoint") }
        #expect(
            lines.map { $0.prefix { $0 != ":" } } == [
                "warning the buffer is full", "notice the buffer has room again", "warning the buffer is full",
            ]
        )
        #expect(lines[0].contains(" BYTES=1") && lines[0].hasSuffix(" LIMIT=100000"), "\(lines[0])")
        #expect(lines[2].hasSuffix(" LIMIT=1000"), "\(lines[2])")
    }

    @Test("above the inbox limit append says no, takes all the same, and the store says when to go on")
    func inboxLimit() async throws {
        let (store, setup) = try open(inboxLimit: 10_000)
        #expect(store.append([Sample.append(setup.rooms[0], 1, route: setup.routes[0])]))
        let text = String(repeating: "z", count: 10_000)
        #expect(!store.append([Sample.append(setup.rooms[0], 2, route: setup.routes[0], payload: text)]))
        #expect(!store.append([Sample.append(setup.rooms[0], 3, route: setup.routes[0])]))
        store.start(recorder.ports)
        try await eventually("it opens") { recorder.now.admissions == [true] }
        #expect(recorder.now.deliveries.map(\.seq) == [1, 2, 3])
        store.stop()
    }

    @Test("a full disk closes intake, loses nothing, and goes on when there is space")
    func fullDisk() async throws {
        let (store, setup) = try open()
        let pages = try store.ledger.database.integer("PRAGMA page_count", doing: "counting pages")
        try store.ledger.database.execute("PRAGMA max_page_count=\(pages + 20)", doing: "making the disk small")
        store.start(recorder.ports)
        let text = String(repeating: "z", count: 3_000)
        var wasRefused = false
        for offset in 1...100 as ClosedRange<UInt64> {
            let record = Sample.append(setup.rooms[0], offset, route: setup.routes[0], payload: text)
            // Who is told so here is not told again.
            if !store.append([record]) { wasRefused = true }
        }
        try await eventually("it closes") { wasRefused || recorder.now.admissions == [false] }
        #expect(recorder.now.failures.isEmpty)
        let ledger = LoopBound(store.ledger, on: store.loop)
        store.loop.post {
            do {
                try ledger.value.database.execute("PRAGMA max_page_count=100000", doing: "making space")
            } catch {
                Issue.record(error)
            }
        }
        try await eventually("it opens") { recorder.now.admissions.last == true }
        try await eventually("all are committed") { recorder.now.deliveries.count == 100 }
        #expect(fixture.lines.contains { $0.hasPrefix("error the disk is full") })
        #expect(recorder.now.deliveries.map(\.seq) == Array(1...100))
        #expect(recorder.now.deliveries.map(\.row.rawValue) == Array(1...100))
        store.stop()
        #expect(try fixture.ledger().storedRows() == Array(1...100))
    }

    @Test("what is settled makes room on a full disk")
    func fullDiskEmpties() async throws {
        let (store, setup) = try open()
        let pages = try store.ledger.database.integer("PRAGMA page_count", doing: "counting pages")
        try store.ledger.database.execute("PRAGMA max_page_count=\(pages + 20)", doing: "making the disk small")
        store.start(recorder.ports)
        let text = String(repeating: "z", count: 3_000)
        let records = (1...30 as ClosedRange<UInt64>).map {
            Sample.append(setup.rooms[0], $0, route: setup.routes[0], payload: text)
        }
        _ = store.append(records)
        try await eventually("they are committed") { recorder.now.deliveries.count == 30 }
        _ = store.append(
            (31...60).map { Sample.append(setup.rooms[0], $0, route: setup.routes[0], payload: text) }
        )
        try await eventually("it closes") { recorder.now.admissions == [false] }
        store.settle(settlements(recorder.now.deliveries))
        try await eventually("the others fit now") { recorder.now.deliveries.count == 60 }
        try await eventually("it opens") { recorder.now.admissions == [false, true] }
        #expect(recorder.now.deliveries.map(\.seq) == Array(1...60))
        store.stop()
        #expect(try fixture.ledger().storedRows() == Array(31...60))
    }

    @Test("the log stays short under load and is cut to nothing when it is quiet")
    func log() async throws {
        let (store, setup) = try open()
        store.start(recorder.ports)
        let text = String(repeating: "z", count: 2_000)
        let file = fixture.path + "/store.db-wal"
        func size() -> Int { (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0 }
        var longest = 0
        for round in 0..<40 as Range<UInt64> {
            let offsets = (round * 500 + 1)...(round * 500 + 500)
            _ = store.append(
                offsets.map { Sample.append(setup.rooms[0], $0, route: setup.routes[0], payload: text) }
            )
            try await eventually("they are committed") { recorder.now.deliveries.count >= Int(round) * 500 }
            longest = max(longest, size())
        }
        #expect(longest > 4 << 20)
        #expect(longest < 16 << 20)
        try await eventually(within: .seconds(30), "it is cut") { size() == 0 }
        #expect(recorder.now.failures.isEmpty)
        store.stop()
    }

    @Test("a write that fails is told once, and nothing is committed any more")
    func failedWrite() async throws {
        let (store, setup) = try open()
        store.start(recorder.ports)
        _ = store.append([Sample.append(setup.rooms[0], 1, route: setup.routes[0])])
        try await eventually("the first is committed") { recorder.now.deliveries.count == 1 }
        // From here on the log's descriptor is one that cannot be written.
        let log = try #require(descriptor(of: fixture.path + "/store.db-wal"))
        let reader = Foundation.open(fixture.path + "/store.db-wal", O_RDONLY)
        #expect(dup2(reader, log) == log)
        close(reader)
        for offset in 2...5 as ClosedRange<UInt64> {
            _ = store.append([Sample.append(setup.rooms[0], offset, route: setup.routes[0])])
        }
        try await eventually("it is told") { !recorder.now.failures.isEmpty }
        _ = store.append([Sample.append(setup.rooms[0], 6, route: setup.routes[0])])
        store.stop()
        let state = recorder.now
        #expect(state.failures.count == 1)
        #expect(state.failures.first?.code == .inputOutput)
        #expect(state.failures.first?.exitCode == 74)
        #expect(state.failures.first?.systemError == EBADF)
        #expect(state.failures.first?.message.contains(fixture.path + "/store.db") == true)
        #expect(state.deliveries.map(\.seq) == [1])
        #expect(FileManager.default.fileExists(atPath: fixture.path + "/store.db-wal"))
        #expect(try fixture.ledger().storedRows() == [1])
    }

    private func descriptor(of path: String) -> CInt? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return names.compactMap { CInt($0) }.first { number in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")) == path
        }
    }
}
