import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import BridgeStore

/// What becomes of a store whose file is damaged.
@Suite(.timeLimit(.minutes(5))) struct SalvageTests {
    private static let rooms = 40
    private static let events: UInt64 = 8
    /// Events that both endpoints have settled, and that are gone therefore.
    private static let settled: UInt64 = 2

    /// What was found in a lane: offsets of events and ranges of gaps, in order.
    private enum Found: Equatable {
        case event(UInt64)
        case gap(ClosedRange<UInt64>)
    }

    /// A store with events that wait for two endpoints, of a size that fills some pages.
    private func fill(_ fixture: StoreFixture) throws {
        let ledger = try fixture.ledger()
        let setup = try configure(ledger)
        for offset in 1...Self.events {
            for room in setup.rooms {
                let payload = "{\"n\":\(offset),\"text\":\"\(String(repeating: "x", count: 300))\"}"
                let record = Sample.append(room, offset, route: setup.routes[0], payload: payload)
                let deliveries = try ledger.append(record)
                if offset <= Self.settled { for delivery in deliveries { try ledger.settle(delivery) } }
            }
        }
        try ledger.database.checkpoint(.truncate)
        ledger.close()
    }

    private func configure(_ ledger: Ledger) throws -> StoreSnapshot {
        try ledger.configure(rooms: Sample.rooms(Self.rooms), endpoints: ["a", "b"], routes: [[0, 1]])
    }

    private func overwrite(_ path: String, _ range: Range<Int>) throws {
        let file = try #require(FileHandle(forUpdatingAtPath: path))
        try file.seek(toOffset: UInt64(range.lowerBound))
        try file.write(contentsOf: Data(range.map { UInt8(truncatingIfNeeded: $0 &* 31 ^ 0x5a) }))
        try file.close()
    }

    /// Opens the store and reads everything that waits for each endpoint in each room, as a process would that starts again
    /// after it met damage.
    private func readAll(_ fixture: StoreFixture) throws -> (lanes: [[Found]], positions: [Position?]) {
        for _ in 0..<2 {
            let ledger = try fixture.ledger()
            defer { ledger.close() }
            do {
                let setup = try configure(ledger)
                var lanes: [[Found]] = []
                for endpoint in setup.endpoints {
                    for room in setup.rooms {
                        let losses = setup.losses.filter { $0.lane == Lane(endpoint: endpoint, room: room) }
                        lanes.append((losses + (try ledger.refill(endpoint, [(room, 1)]).deliveries)).map(Self.found))
                    }
                }
                return (lanes, setup.positions)
            } catch let error as SQLiteError {
                #expect(ledger.failure(error).code == .damaged, "\(error)")
            }
        }
        throw NotInTime(description: "the store is still damaged after it was saved")
    }

    private static func found(_ delivery: PendingDelivery) -> Found {
        if let gap = delivery.gap { return .gap(gap.from...(gap.to ?? .max)) }
        return .event(delivery.event?.offset ?? 0)
    }

    private func aside(_ fixture: StoreFixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: fixture.path).filter { $0.hasSuffix("Z") }
    }

    @Test("whatever page is damaged, what can be read is delivered, and where events are missing there is a gap")
    func everyPage() throws {
        let whole = try StoreFixture()
        try fill(whole)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: whole.path + "/store.db"))
        let pages = bytes.count / 8_192
        try #require(pages > 15)
        var saved = 0
        for page in 0..<pages {
            let fixture = try StoreFixture()
            mkdir(fixture.path, 0o700)
            try bytes.write(to: URL(fileURLWithPath: fixture.path + "/store.db"))
            try overwrite(fixture.path + "/store.db", page * 8_192..<(page + 1) * 8_192)
            let damaged = try Data(contentsOf: URL(fileURLWithPath: fixture.path + "/store.db"))
            let (lanes, positions) = try readAll(fixture)
            let names = try aside(fixture)
            guard let name = names.first else {
                // A page that nothing is in.
                for lane in lanes {
                    #expect(lane == (Self.settled + 1...Self.events).map { .event($0) }, "page \(page)")
                }
                continue
            }
            saved += 1
            #expect(names.count == 1)
            #expect(try Data(contentsOf: URL(fileURLWithPath: "\(fixture.path)/\(name)")) == damaged, "page \(page)")
            let isLost = fixture.lines.contains { $0.contains("nothing of the damaged store could be read") }
            // The first page holds the names of the tables: without it there is nothing to go by.
            #expect(!isLost || page == 0)
            if isLost { continue }
            let isNameless = fixture.lines.contains { $0.contains("whose names are lost") }
            for (index, lane) in lanes.enumerated() where !(lane.isEmpty && isNameless) {
                check(lane, "page \(page), lane \(index)")
            }
            for (index, position) in positions.enumerated() where position != nil {
                #expect(position == Position(epoch: "ab12", offset: Self.events), "page \(page), room \(index)")
            }
        }
        #expect(saved > 10)
    }

    /// Every event that waited is there or in a gap, and all is in order; what was settled may come again.
    private func check(_ lane: [Found], _ place: String) {
        var next: UInt64 = 1
        for found in lane {
            switch found {
            case .event(let offset):
                #expect(offset >= next, "\(place): \(lane)")
                #expect(offset == next || next <= Self.settled, "\(place): \(lane)")
                next = offset + 1
            case .gap(let range):
                next = max(next, range.upperBound == .max ? Self.events + 1 : range.upperBound + 1)
            }
        }
        #expect(next > Self.events, "\(place): \(lane)")
    }

    @Test("a new store in place of one that is lost tells the endpoints of its rooms that something may be missing")
    func nothingLeft() throws {
        let fixture = try StoreFixture()
        try fill(fixture)
        try overwrite(fixture.path + "/store.db", 0..<8_192)
        let ledger = try fixture.ledger()
        let setup = try configure(ledger)
        #expect(setup.positions.allSatisfy { $0 == nil })
        _ = try ledger.append(
            AppendRecord(
                room: setup.rooms[0],
                body: .baseline,
                position: Position(epoch: "ab12", offset: 20, incarnation: 0),
                route: nil
            )
        )
        let first = try ledger.append(Sample.append(setup.rooms[0], 21, route: setup.routes[0]))
        #expect(first.map(Self.found) == [.gap(0...20), .gap(0...20), .event(21), .event(21)])
        #expect(first.map(\.gap?.reason) == [.damaged, .damaged, nil, nil])
        #expect(first.map(\.seq) == [1, 1, 2, 2])
        let second = try ledger.append(Sample.append(setup.rooms[0], 22, route: setup.routes[0]))
        #expect(second.map(Self.found) == [.event(22), .event(22)])
        ledger.close()
        #expect(fixture.lines.contains { $0.contains("nothing of the damaged store could be read") })
    }

    @Test("what the log alone holds is saved with the rest, and both stay as they were")
    func log() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        let setup = try configure(ledger)
        for offset in 1...3 as ClosedRange<UInt64> {
            _ = try ledger.append(Sample.append(setup.rooms[0], offset, route: setup.routes[0]))
            if offset == 1 { try ledger.database.checkpoint(.truncate) }
        }
        // As after a crash.
        let copy = fixture.path + "2"
        try FileManager.default.copyItem(atPath: fixture.path, toPath: copy)
        ledger.close()
        Salvage.request(of: copy + "/store.db")
        let before = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: copy + "/store.db" + $0)) }
        try #require(before[1].count > 0)
        let again = try fixture.ledger(in: copy)
        defer { again.close() }
        let same = try configure(again)
        #expect(same.positions[0]?.offset == 3)
        let deliveries = try again.refill(same.endpoints[0], [(same.rooms[0], 1)]).deliveries
        #expect(deliveries.map(Self.found) == [.event(1), .event(2), .event(3)])
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: copy).first { $0.hasSuffix("Z") })
        let after = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: "\(copy)/\(name)" + $0)) }
        #expect(after == before)
        // Ids go on where they were.
        #expect(again.lastRow.rawValue == 3)
    }

    /// How far an earlier process came with it.
    enum Stage: CaseIterable {
        case marked
        case moved
        case half
        case replaced
    }

    @Test("one that was cut short anywhere is done again", arguments: Stage.allCases)
    func cutShort(_ stage: Stage) throws {
        let fixture = try StoreFixture()
        try fill(fixture)
        let path = fixture.path + "/store.db"
        Salvage.request(of: path)
        let salvage = try #require(Salvage(pendingAt: path, logger: fixture.logger))
        let mark = fixture.path + "/store.salvage"
        let stamp = try Data(contentsOf: URL(fileURLWithPath: mark))
        switch stage {
        case .marked: break
        case .moved: try FileManager.default.moveItem(atPath: path, toPath: salvage.aside)
        case .half:
            try FileManager.default.moveItem(atPath: path, toPath: salvage.aside)
            try Data("half a database".utf8).write(to: URL(fileURLWithPath: path + ".new"))
        case .replaced:
            _ = try salvage.run()
            try stamp.write(to: URL(fileURLWithPath: mark))
        }
        let (lanes, _) = try readAll(fixture)
        for lane in lanes { #expect(lane == (Self.settled + 1...Self.events).map { .event($0) }) }
        #expect(try aside(fixture).count == 1)
        #expect(!FileManager.default.fileExists(atPath: mark))
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
    }

    @Test("damage that is met while it runs ends the process, and the next one saves what is left")
    func whileRunning() async throws {
        let fixture = try StoreFixture()
        try fill(fixture)
        let path = fixture.path + "/store.db"
        let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
        // Events, and none that the start looks at.
        try overwrite(path, size - 5 * 8_192..<size - 2 * 8_192)
        let store = try fixture.store()
        let setup = try store.configure(rooms: Sample.rooms(Self.rooms), endpoints: ["a", "b"], routes: [[0, 1]])
        let failure = Lock<StoreError?>(nil)
        let ports = StorePorts(
            committed: { _ in },
            admission: { _ in },
            failed: { error in failure.withLock { $0 = error } }
        )
        store.start(ports)
        let wishes = setup.rooms.map { RefillRequest.Wish(room: $0, from: RowID(1)) }
        let request = RefillRequest(
            endpoint: setup.endpoints[0],
            wishes: wishes,
            maxRows: 1_000,
            maxBytes: 1 << 20,
            maxRowsPerLane: 1_000
        )
        store.refill(request) { _ in }
        try await eventually("the store failed") { failure.withLock { $0 } != nil }
        store.stop()
        let error = try #require(failure.withLock { $0 })
        #expect(error.code == .damaged && error.exitCode == 74)
        #expect(error.message.contains("the next start moves it aside and saves what can be read"))
        #expect(FileManager.default.fileExists(atPath: fixture.path + "/store.salvage"))
        let (lanes, _) = try readAll(fixture)
        #expect(lanes.contains { $0.contains { if case .gap = $0 { true } else { false } } })
        for (index, lane) in lanes.enumerated() { check(lane, "lane \(index)") }
    }
}
