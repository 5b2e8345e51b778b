import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import BridgeStore

/// What the bridge tells of a room lies among the room's events.
@Suite struct NoticeTests {
    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
    }

    private func open() throws -> (Ledger, StoreSnapshot) {
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(
            rooms: Sample.rooms(2),
            endpoints: ["a", "b"],
            losing: [LossRule(onOverflow: true), .none],
            routes: [[0, 1], [0]]
        )
        return (ledger, setup)
    }

    private func notice(_ kind: RoomNotice.Kind, _ text: String, _ setup: StoreSnapshot, room: Int = 0) -> AppendRecord
    {
        AppendRecord(
            room: setup.rooms[room],
            body: .notice(RoomNotice(kind: kind, text: Payload(text), at: -5)),
            position: nil,
            route: setup.routes[1]
        )
    }

    private func texts(_ deliveries: [PendingDelivery]) -> [String] {
        deliveries.map { delivery in
            switch delivery.body {
            case .notice(let notice):
                "\(notice.kind) \(notice.text.withBytes { String(decoding: $0, as: UTF8.self) }) \(notice.at)"
            case .event(let event): "event \(event.offset)"
            case .gap: "gap"
            }
        }
    }

    @Test("it takes a seq and no position, for those alone who ask, and is read back as it was")
    func stored() throws {
        let (ledger, setup) = try open()
        let deliveries = try ledger.append(
            Sample.append(setup.rooms[0], 7, route: setup.routes[0]),
            notice(.member, #"{"event":"join"}"#, setup),
            notice(.count, #"{"n":1}"#, setup),
            notice(.state, #"{"state":"joined"}"#, setup),
            Sample.append(setup.rooms[0], 8, route: setup.routes[0])
        )
        let mine = deliveries.filter { $0.lane.endpoint == setup.endpoints[0] }
        let expected = [
            "event 7", #"member {"event":"join"} -5"#, #"count {"n":1} -5"#, #"state {"state":"joined"} -5"#, "event 8",
        ]
        #expect(texts(mine) == expected && mine.map(\.seq) == [1, 2, 3, 4, 5])
        #expect(deliveries.filter { $0.lane.endpoint == setup.endpoints[1] }.map(\.seq) == [1, 5])
        #expect(ledger.catalog.rooms[0].state.position == Position(epoch: "ab12", offset: 8))
        #expect(texts(try ledger.refill(setup.endpoints[0], [(setup.rooms[0], 1)]).deliveries) == expected)
    }

    @Test("the same state or count again is no news, also after a restart; a coming and going is")
    func news() throws {
        var (ledger, setup) = try open()
        let joined = #"{"state":"joined"}"#
        #expect(try ledger.append(notice(.state, joined, setup), notice(.state, joined, setup)).map(\.seq) == [1])
        #expect(try ledger.append(notice(.state, joined, setup, room: 1)).map(\.seq) == [1])
        #expect(try ledger.append(notice(.count, #"{"n":1}"#, setup), notice(.count, #"{"n":1}"#, setup)).count == 1)
        ledger.close()
        (ledger, setup) = try open()
        #expect(try ledger.append(notice(.state, joined, setup), notice(.count, #"{"n":1}"#, setup)).isEmpty)
        #expect(
            try ledger.append(notice(.state, #"{"state":"failed"}"#, setup), notice(.state, joined, setup)).count == 2
        )
        #expect(try ledger.append(notice(.count, #"{"n":2}"#, setup)).map(\.seq) == [5])
        let came = notice(.member, "{}", setup)
        #expect(try ledger.append(came, came).map(\.seq) == [6, 7])
    }

    @Test("what was rolled back was not told")
    func rolledBack() throws {
        let (ledger, setup) = try open()
        try ledger.database.execute(
            "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no'); END",
            doing: "refusing rows"
        )
        #expect(throws: SQLiteError.self) { try ledger.append(notice(.count, #"{"n":1}"#, setup)) }
        try ledger.database.execute("DROP TRIGGER full", doing: "taking rows again")
        #expect(try ledger.append(notice(.count, #"{"n":1}"#, setup)).map(\.seq) == [1])
    }

    @Test("a notice that is lost goes into the gap of the events around it")
    func lost() throws {
        let (ledger, setup) = try open()
        for offset in 1...20 as ClosedRange<UInt64> {
            _ = try ledger.append(
                Sample.append(setup.rooms[0], offset, route: setup.routes[1]),
                notice(.member, "{}", setup)
            )
        }
        for number in 1...3 { _ = try ledger.append(notice(.count, "\(number)", setup, room: 1)) }
        let pass = try ledger.lose(setup.endpoints[0], from: 1, below: 44, limit: 100, at: 7) { _ in true }
        #expect(pass.rows == 43)
        let gaps = pass.deliveries.compactMap(\.gap)
        let own = Gap(reason: .retention, epoch: "", from: 1, to: 3)
        #expect(gaps == [Gap(reason: .retention, epoch: "ab12", from: 1, to: 20), own])
        #expect(pass.deliveries.map(\.seq) == [40, 3])
    }

    @Test("a damaged one is a gap like any other")
    func damaged() throws {
        let (ledger, setup) = try open()
        _ = try ledger.append(notice(.count, #"{"n":1}"#, setup))
        try ledger.database.execute("UPDATE events SET payload = x'00'", doing: "damaging a row")
        let answer = try ledger.refill(setup.endpoints[0], [(setup.rooms[0], 1)]).deliveries
        #expect(answer.first?.gap?.reason == .damaged && answer.count == 1)
    }
}
