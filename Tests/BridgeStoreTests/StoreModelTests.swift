import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import BridgeStore

/// One random run of a ledger beside its model.
final class ModelRun {
    private let fixture: StoreFixture
    private var random: SeededRandom
    private let rooms: [RoomKey]
    private var endpoints: [ByteString]
    private var routes: [[Int]] = [[0], [1], [0, 1], []]
    private var ledger: Ledger
    private var setup: StoreSnapshot
    private var model: StoreModel
    private var offsets: [UInt64]
    private var epochs: [Int]
    private var directories = 0
    /// The model after each commit since the database file was last brought up to date.
    private var history: [StoreModel] = []

    init(seed: UInt64) throws {
        fixture = try StoreFixture()
        random = SeededRandom(seed: seed)
        rooms = Sample.rooms(Int.random(in: 1...6, using: &random))
        endpoints = ["a", "b"]
        ledger = try fixture.ledger()
        setup = try ledger.configure(rooms: rooms, endpoints: endpoints, routes: routes)
        model = StoreModel(rooms: rooms)
        offsets = rooms.map { _ in 0 }
        epochs = rooms.map { _ in 0 }
        try settleHistory()
    }

    func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: try append()
        case 45..<75: try settle()
        case 75..<88: try refill()
        case 88..<91: try reopen()
        case 91..<95: try crash(tears: false)
        case 95..<97: try crash(tears: true)
        case 97..<99: try reconfigure()
        default:
            try ledger.database.checkpoint(Bool.random(using: &random) ? .passive : .truncate)
            history = [model]
        }
        try compare()
    }

    private func compare() throws {
        while ledger.hasSweep { try ledger.sweep(limit: Int.random(in: 1...5, using: &random)) }
        let expected = model.image
        let stored = try ledger.storedImage()
        #expect(stored == expected)
        var held = ledger.heldImage(Dictionary(uniqueKeysWithValues: zip(setup.endpoints, endpoints)))
        held.rows = stored.rows
        #expect(held == stored)
        try #require(stored == expected && held == stored)
    }

    // MARK: steps

    private func append() throws {
        var records: [AppendRecord] = []
        var expected: [String] = []
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            let room = Int.random(in: 0..<rooms.count, using: &random)
            let route =
                Int.random(in: 0..<10, using: &random) == 0 ? nil : Int.random(in: 0..<routes.count, using: &random)
            let record = record(room, route: route.map { setup.routes[$0] })
            records.append(record)
            let targets = route.map { routes[$0].map { endpoints[$0] } } ?? []
            expected += model.append(record, room: room, endpoints: targets)
        }
        let names = Dictionary(uniqueKeysWithValues: zip(setup.endpoints, endpoints))
        let deliveries = try ledger.commit(records[...], [])
        #expect(
            deliveries.map { "\($0.row.rawValue) \(names[$0.lane.endpoint] ?? "?") \($0.room.room) \($0.seq)" }
                == expected
        )
        history.append(model)
    }

    private func record(_ room: Int, route: RouteID?) -> AppendRecord {
        let id = setup.rooms[room]
        func epoch() -> ByteString { ByteString("e\(epochs[room])") }
        switch Int.random(in: 0..<20, using: &random) {
        case 0:
            // Repeated from further back.
            let offset = UInt64.random(in: 0...offsets[room], using: &random)
            return Sample.append(id, offset, route: route, epoch: epoch())
        case 1:
            epochs[room] += 1
            let gap = Gap(reason: .epochChanged, epoch: epoch(), from: offsets[room] + 1, to: nil)
            offsets[room] = UInt64.random(in: 0...5, using: &random)
            let position = Position(epoch: epoch(), offset: offsets[room])
            return AppendRecord(room: id, body: .gap(gap, at: 5), position: position, route: route)
        case 2:
            let gap = Gap(reason: .trimmed, epoch: epoch(), from: offsets[room] + 1, to: offsets[room] + 3)
            offsets[room] += 3
            let position = Position(epoch: epoch(), offset: offsets[room])
            return AppendRecord(room: id, body: .gap(gap, at: 5), position: position, route: route)
        case 3:
            return AppendRecord(room: id, body: .event(Sample.event(0)), position: nil, route: route)
        case 4:
            let position = Position(epoch: epoch(), offset: offsets[room])
            return AppendRecord(room: id, body: .baseline, position: position, route: nil)
        case 5:
            offsets[room] += 1
            let big = String(repeating: "x", count: Int.random(in: 1_000...30_000, using: &random))
            return Sample.append(id, offsets[room], route: route, epoch: epoch(), payload: big)
        case 6:
            let kind = RoomNotice.Kind.allCases.randomElement(using: &random) ?? .count
            let text = Payload("\(Int.random(in: 1...2, using: &random))")
            return AppendRecord(
                room: id,
                body: .notice(RoomNotice(kind: kind, text: text, at: 5)),
                position: nil,
                route: route
            )
        default:
            offsets[room] += 1
            return Sample.append(id, offsets[room], route: route, epoch: epoch())
        }
    }

    private func settle() throws {
        var settlements: [Settlement] = []
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let room = Int.random(in: 0..<rooms.count, using: &random)
            let endpoint = Int.random(in: 0..<endpoints.count, using: &random)
            let key = StoreModel.LaneKey(endpoint: endpoints[endpoint], room: room)
            let waiting = model.waiting(key)
            guard !waiting.isEmpty else { continue }
            let count = Int.random(in: 1...waiting.count, using: &random)
            let lane = BridgeModel.Lane(endpoint: setup.endpoints[endpoint], room: setup.rooms[room])
            // One for each, or one for all.
            let told = Bool.random(using: &random) ? waiting.prefix(count) : waiting[(count - 1)..<count]
            for row in told {
                settlements.append(Settlement(lane: lane, row: RowID(row.id), seq: row.seq))
                model.settle(key, through: row.id, seq: row.seq)
            }
        }
        // Said twice: the second time nothing happens.
        if Bool.random(using: &random), let last = settlements.last { settlements.append(last) }
        try ledger.settle(settlements)
        history.append(model)
    }

    private func refill() throws {
        let endpoint = Int.random(in: 0..<endpoints.count, using: &random)
        let maxRows = Int.random(in: 1...20, using: &random)
        let perLane = Int.random(in: 1...6, using: &random)
        var wishes: [(room: Int, from: Int64)] = []
        for room in rooms.indices.shuffled(using: &random) where Bool.random(using: &random) {
            let next = model.lanes[StoreModel.LaneKey(endpoint: endpoints[endpoint], room: room)]?.next ?? 1
            wishes.append(
                (room, Bool.random(using: &random) ? next : Int64.random(in: 1...model.nextRow, using: &random))
            )
        }
        let result = try ledger.refill(
            setup.endpoints[endpoint],
            wishes.map { (setup.rooms[$0.room], $0.from) },
            rows: maxRows,
            perLane: perLane
        )
        #expect(result.lastCommitted == RowID(model.nextRow - 1))
        var given: [Int: [Int64]] = [:]
        for delivery in result.deliveries {
            let room = try #require(setup.rooms.firstIndex(of: delivery.lane.room))
            given[room, default: []].append(delivery.row.rawValue)
            try check(delivery)
        }
        #expect(result.deliveries.map(\.row) == result.deliveries.map(\.row).sorted())
        #expect(result.deliveries.count <= maxRows)
        for (wish, next) in zip(wishes, result.next) {
            #expect(next.room == setup.rooms[wish.room])
            let key = StoreModel.LaneKey(endpoint: endpoints[endpoint], room: wish.room)
            let rows = model.waiting(key).map(\.id).filter { $0 >= wish.from }
            let mine = given[wish.room] ?? []
            // What was given is a prefix, and the rest begins at what was reported as next.
            #expect(mine == Array(rows.prefix(mine.count)))
            #expect(mine.count <= perLane)
            #expect(rows.dropFirst(mine.count) == rows.filter { $0 >= next.from.rawValue }[...])
            if mine.count == rows.count, result.deliveries.count < maxRows {
                #expect(next.from > result.lastCommitted)
            }
        }
        let wanted = wishes.contains { wish in
            let key = StoreModel.LaneKey(endpoint: endpoints[endpoint], room: wish.room)
            return model.waiting(key).contains { $0.id >= wish.from }
        }
        #expect(result.deliveries.isEmpty == !wanted)
    }

    private func check(_ delivery: PendingDelivery) throws {
        let row = try #require(model.rows.first { $0.id == delivery.row.rawValue })
        #expect(delivery.seq == row.seq)
        switch (delivery.body, row.body) {
        case (.event(let event), .event(let expected)):
            #expect(event.payload == expected.payload)
            #expect(event.epoch == expected.epoch)
            #expect(event.offset == expected.offset)
            #expect(event.shape == expected.shape)
        case (.gap(let gap, let at), .gap(let expected, let since)):
            #expect(gap == expected)
            #expect(at == since)
        case (.notice(let notice), .notice(let expected)):
            #expect(notice.kind == expected.kind && notice.text == expected.text && notice.at == expected.at)
        default: Issue.record("a record came back as one of another kind")
        }
    }

    private func reopen() throws {
        ledger.close()
        try open(fixture.ledger(in: currentDirectory))
    }

    /// Goes on from a copy of the files as they are; `tears` cuts the log short, so that the last commits are undone.
    private func crash(tears: Bool) throws {
        let from = currentDirectory
        directories += 1
        try FileManager.default.copyItem(atPath: from, toPath: currentDirectory)
        var torn = 0
        // What stands in the database already was synced in the log before: only later commits can be torn.
        if tears, history.count > 1 {
            let log = currentDirectory + "/" + Schema.databaseName + "-wal"
            let size = (try? FileManager.default.attributesOfItem(atPath: log)[.size] as? Int) ?? 0
            torn = Int.random(in: 0...size, using: &random)
            if size > 0 { truncate(log, off_t(size - torn)) }
        }
        ledger.close()
        try? FileManager.default.removeItem(atPath: from)
        let survivor = try fixture.ledger(in: currentDirectory)
        let image = try survivor.storedImage()
        let index = try #require(history.lastIndex { $0.image == image }, "the store is as after no commit:\n\(image)")
        if torn == 0 { #expect(index == history.count - 1) }
        model = history[index]
        for room in rooms.indices {
            // The server replays from the position that survived.
            guard let position = model.positions[room] else { continue }
            offsets[room] = position.offset
            epochs[room] = Int(position.epoch.string.dropFirst()) ?? 0
        }
        try open(survivor)
    }

    private var currentDirectory: String { directories == 0 ? fixture.path : fixture.path + "\(directories)" }

    private func open(_ survivor: Ledger) throws {
        ledger = survivor
        setup = try ledger.configure(rooms: rooms, endpoints: endpoints, routes: routes)
        #expect(setup.positions == model.positions)
        try settleHistory()
    }

    /// From here on a torn log leads back to here at most.
    private func settleHistory() throws {
        try ledger.database.checkpoint(.truncate)
        history = [model]
    }

    /// Takes an endpoint out and puts a new one in.
    private func reconfigure() throws {
        let gone = endpoints.remove(at: 0)
        model.drop(gone)
        endpoints.append(ByteString("new\(UInt32.random(in: 0...(.max), using: &random))"))
        ledger.close()
        try open(fixture.ledger(in: currentDirectory))
        while ledger.hasSweep { try ledger.sweep(limit: 3) }
        try settleHistory()
    }
}

@Suite struct StoreModelTests {
    @Test("a random run with crashes agrees with the model after each step", arguments: 1...12 as ClosedRange<UInt64>)
    func randomRun(seed: UInt64) throws {
        let run = try ModelRun(seed: seed)
        for _ in 0..<120 { try run.step() }
    }
}
