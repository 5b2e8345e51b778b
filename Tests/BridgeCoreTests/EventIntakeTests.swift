import BridgeModel
import BridgeTestSupport
import Rooms
import RoomsRuntime
import RoomsWire
import Testing

@testable import BridgeCore

@Suite struct EventIntakeTests {
    private let log = LogQueue(sink: NoSink())
    private let store = FakeStore()

    private func intake(isFresh: Bool = true) -> EventIntake {
        let store = store
        let plan = RoutePlan([
            RoomConfiguration(
                server: 0,
                name: "shop",
                start: .now,
                rules: [
                    .init(events: [.exact("sold")], endpoints: [0]), .init(events: [.prefix("s")], endpoints: [1]),
                ]
            )
        ])
        let room = EventIntake.Room(id: RoomID(7), name: "shop", routes: plan.rooms[0], isFresh: isFresh)
        // The store numbers the routes as it likes.
        return EventIntake(
            rooms: [room],
            routes: plan.routes.map { RouteID($0.reduce(100) { $0 * 10 + Int64($1) }) },
            logger: Logger(queue: log, level: .debug),
            wallClock: { 1_796_004_000_123 },
            append: { store.append($0) }
        )
    }

    private static let position = RoomPosition(epoch: "e", offset: 18, incarnation: 2)

    private func event(_ json: String, tags: [RoomsWire.Tag] = [], user: ByteString? = nil) throws -> EventRecord {
        let publication = Publication(
            data: Payload(json),
            offset: 18,
            info: user.map { ClientInfo(user: $0, client: "c") },
            tags: tags
        )
        _ = intake().take([.event(room: 0, publication, position: Self.position, isReplayed: true)])
        let record = try #require(store.records.last)
        guard case .event(let event) = record.body else { throw NotAnEvent() }
        return event
    }

    private struct NotAnEvent: Error {}

    @Test func `an event becomes a record with what its envelope says`() throws {
        let event = try event(#"{"event":"sold","data":{"n":1},"at":1796000000000}"#, user: "ann")
        #expect(event.name == "sold")
        #expect(event.shape == .json(23..<30))
        #expect(event.payload == Payload(#"{"event":"sold","data":{"n":1},"at":1796000000000}"#))
        #expect(event.at == 1_796_000_000_000)
        #expect(event.from == "ann")
        #expect(event.epoch == "e")
        #expect(event.offset == 18)
        #expect(event.incarnation == 2)
        #expect(event.isReplayed)
        #expect(event.tags == nil)
        #expect(store.records.last?.position == Position(epoch: "e", offset: 18, incarnation: 2))
        #expect(store.records.last?.room == RoomID(7))
    }

    @Test func `tags name the event and travel as JSON, what is not JSON stays as it is`() throws {
        let event = try event(
            "\u{1}\"",
            tags: [RoomsWire.Tag(key: "event", value: "raw"), RoomsWire.Tag(key: "k\"", value: "v\n")]
        )
        #expect(event.name == "raw")
        #expect(event.shape == .binary)
        #expect(event.tags == Array(#"{"event":"raw","k\"":"v\n"}"#.utf8))
        #expect(event.at == 1_796_004_000_123, "nobody said when: the time of receipt")
        #expect(event.from == nil)
    }

    @Test(
        arguments: [
            ("sold", 10_001), ("seen", 1_001), ("other", nil),
        ] as [(String, Int64?)]
    )
    func `the route follows the name of the event`(_ name: String, _ route: Int64?) throws {
        _ = try event(#"{"event":"\#(name)","data":1}"#)
        #expect(store.records.last?.route == route.map { RouteID($0) })
    }

    /// What endpoint 1 is told, which asks for all there is.
    private func told(_ items: SinkItem...) -> [String] {
        var rule = RoomConfiguration.Rule(events: nil, endpoints: [1])
        rule.notices = Set(RoomNotice.Kind.allCases)
        let plan = RoutePlan([RoomConfiguration(server: 0, name: "shop", start: .now, rules: [rule])])
        let intake = EventIntake(
            rooms: [EventIntake.Room(id: RoomID(7), name: "shop", routes: plan.rooms[0], isFresh: false)],
            routes: [RouteID(5)],
            logger: Logger(queue: log, level: .debug),
            wallClock: { 77 },
            append: { [store] in store.append($0) }
        )
        _ = intake.take(items)
        return store.records.compactMap { record in
            guard case .notice(let notice) = record.body else { return nil }
            #expect(record.route == RouteID(5) && record.position == nil && notice.at == 77)
            return "\(notice.kind) " + notice.text.withBytes { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test func `who comes and goes is told, but not that we do`() {
        var ann = ClientInfo(user: "ann", client: "c\"1")
        ann.connInfo = Array("{\n \"a\": 1.0}".utf8)
        ann.chanInfo = Array("2".utf8)
        var nobody = ClientInfo(user: "", client: "c2")
        nobody.connInfo = [0xff]
        let told = told(
            .member(room: 0, ann, isHere: true, isOurs: false),
            .member(room: 0, ann, isHere: true, isOurs: true),
            .member(room: 0, nobody, isHere: false, isOurs: false),
            .count(room: 0, users: .max)
        )
        #expect(
            told == [
                #"member {"event":"join","user":"ann","client":"c\"1","info":{ "a": 1.0}}"#,
                #"member {"event":"leave","user":null,"client":"c2"}"#, #"count {"n":4294967295}"#,
            ]
        )
    }

    @Test func `whether a room is joined is told, and why not`() {
        let waiting = { (code: UInt32, isTerminal: Bool) in
            SinkItem.connection(
                .waiting(code: code, reason: "r", retryAfter: .seconds(1), isTerminal: isTerminal)
            )
        }
        let told = told(
            .joined(room: 0, position: Self.position, isDurable: true),
            .delayed(room: 0, code: 100, reason: "later"),
            waiting(3001, false),
            .failed(room: 0, code: 103, reason: "permission denied"),
            .failed(room: 0, code: 2000, reason: "unsubscribed"),
            waiting(3503, true),
            waiting(3500, true)
        )
        #expect(
            told == [
                #"state {"state":"joined"}"#,
                #"state {"state":"failed","code":"forbidden","message":"permission denied (103)"}"#,
                #"state {"state":"kicked","code":"kicked","message":"unsubscribed (2000)"}"#,
                #"state {"state":"kicked","code":"kicked","message":"r (3503)"}"#,
                #"state {"state":"failed","code":"unauthorized","message":"r (3500)"}"#,
            ]
        )
    }

    @Test func `nobody is told what nobody asked for`() {
        let ann = ClientInfo(user: "ann", client: "c")
        _ = intake(isFresh: false).take([
            .member(room: 0, ann, isHere: true, isOurs: false), .count(room: 0, users: 1),
            .joined(room: 0, position: Self.position, isDurable: true), .failed(room: 0, code: 103, reason: "no"),
        ])
        #expect(store.records.isEmpty)
    }

    @Test func `a live-only event has no position and no offset`() throws {
        _ = intake().take([.event(room: 0, Publication(data: Payload("1")), position: nil, isReplayed: false)])
        let record = try #require(store.records.last)
        guard case .event(let event) = record.body else { throw NotAnEvent() }
        #expect(record.position == nil)
        #expect(event.offset == 0)
        #expect(event.epoch.isEmpty)
    }

    @Test func `a gap goes to all endpoints of the room and moves its position`() throws {
        let gap = RoomGap(reason: .epochChanged, epoch: "old", from: 19, to: nil, incarnation: 1)
        _ = intake().take([.gap(room: 0, gap, position: RoomPosition(epoch: "new", offset: 0))])
        let record = try #require(store.records.last)
        guard case .gap(let stored, let time) = record.body else { throw NotAnEvent() }
        #expect(stored == Gap(reason: .epochChanged, epoch: "old", from: 19, to: nil, incarnation: 1))
        #expect(time == 1_796_004_000_123)
        #expect(record.position == Position(epoch: "new", offset: 0))
        #expect(record.route == RouteID(10_001))
    }

    @Test func `every reason of a gap keeps its name`() {
        for reason in RoomGapReason.allCases {
            let gap = Gap(RoomGap(reason: reason, epoch: "e", from: 1, to: 2))
            #expect(gap.reason.rawValue == reason.rawValue)
        }
    }

    @Test func `the first join of a fresh room commits where it begins, later ones and other rooms do not`() throws {
        let event = SinkItem.event(room: 0, Publication(data: Payload("1")), position: Self.position, isReplayed: false)
        let joined = SinkItem.joined(room: 0, position: RoomPosition(epoch: "e", offset: 17), isDurable: true)
        let fresh = intake()
        _ = fresh.take([joined, event])
        _ = fresh.take([.connection(.connecting), joined])
        #expect(store.records.map { $0.body.isBaseline } == [true, false])
        #expect(store.records.first?.position == Position(epoch: "e", offset: 17))
        #expect(store.records.first?.route == nil)
        _ = intake(isFresh: false).take([joined])
        #expect(store.records.count == 2)
    }

    @Test func `a live-only room gets its baseline when it becomes durable`() {
        let intake = intake()
        _ = intake.take([.joined(room: 0, position: nil, isDurable: false)])
        #expect(store.records.isEmpty)
        _ = intake.take([.joined(room: 0, position: Self.position, isDurable: true)])
        #expect(store.records.map { $0.body.isBaseline } == [true])
    }

    @Test func `reading pauses when the store has no room, and goes on when it says so`() {
        let intake = intake()
        let event = SinkItem.event(room: 0, Publication(data: Payload("1")), position: Self.position, isReplayed: false)
        #expect(intake.take([event]) == .open)
        store.hasRoom.withLock { $0 = false }
        #expect(intake.take([event]) == .paused)
        #expect(store.records.count == 2, "it is taken all the same")
        store.hasRoom.withLock { $0 = true }
        #expect(intake.take([event]) == .open)
        intake.admit(false)
        #expect(intake.take([]) == .paused)
        #expect(intake.take([event]) == .paused)
        intake.admit(true)
        #expect(intake.take([]) == .open)
    }

    @Test func `the summary follows joins, failures and the connection`() {
        let intake = intake()
        #expect(intake.summary == .init(joined: 0, rooms: 1, isConnected: false))
        _ = intake.take([.connection(.connected), .joined(room: 0, position: nil, isDurable: false)])
        #expect(intake.summary == .init(joined: 1, rooms: 1, isConnected: true))
        _ = intake.take([.failed(room: 0, code: 103, reason: "permission denied")])
        #expect(intake.summary == .init(joined: 0, rooms: 1, isConnected: true))
        _ = intake.take([.joined(room: 0, position: nil, isDurable: false)])
        _ = intake.take([
            .connection(.waiting(code: 3_000, reason: "", retryAfter: .seconds(1), isTerminal: false))
        ])
        #expect(intake.summary == .init(joined: 0, rooms: 1, isConnected: false))
    }
}

private struct NoSink: LogSink {
    func write(_ records: [LogRecord]) {}
}

private final class FakeStore: Sendable {
    private let taken = Lock<[AppendRecord]>([])
    let hasRoom = Lock(true)

    var records: [AppendRecord] { taken.withLock { $0 } }

    func append(_ records: [AppendRecord]) -> Bool {
        taken.withLock { $0 += records }
        return hasRoom.withLock { $0 }
    }
}

extension AppendRecord.Body {
    fileprivate var isBaseline: Bool {
        if case .baseline = self { return true }
        return false
    }
}
