import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// How a client comes to miss something.
enum Absence: String, CaseIterable, CustomTestStringConvertible, Sendable {
    /// Its link breaks, and is mended.
    case link
    /// It ends, and another one goes on behind the position that was kept of it, as the bridge does.
    case process

    var testDescription: String { rawValue }
}

/// Rooms of a real server, and a client that is away for a while.
final class RecoveryScene {
    let server: RealServer
    let names: [String]
    let link: MovableLink
    private var lives: [LiveConnection] = []
    private var published: [Int]
    private var kept: [AnyObject] = []

    /// The client's link may be led to other servers later.
    init(_ server: RealServer, rooms names: [String]) throws {
        self.server = server
        self.names = names
        published = names.map { _ in 0 }
        link = try MovableLink(to: server.port)
    }

    /// Something that must last as long as the scene.
    func keep(_ object: AnyObject) { kept.append(object) }

    /// Everything that was heard, over all clients.
    var items: [SinkItem] { lives.flatMap(\.sink.items) }
    var statuses: [String] { RoomsTests.statuses(items) }
    var live: LiveConnection? { lives.last }

    func story(_ room: Int = 0) -> [String] { RoomsTests.story(items, room: room) }

    /// In each room, by `server` or another one.
    func publish(_ count: Int, by other: RealServer? = nil) async throws {
        for room in names.indices { try await publish(count, in: room, by: other) }
    }

    func publish(_ count: Int, in room: Int, by other: RealServer? = nil) async throws {
        let first = published[room] + 1
        try await (other ?? server).api.publish(names[room], numbers: first...(first + count - 1))
        published[room] += count
    }

    func join(
        _ start: (Int) -> RoomStart = { _ in .now },
        _ change: (inout ConnectionOptions) -> Void = { _ in }
    ) throws {
        let rooms = names.indices.map { RoomSpecification(name: ByteString(names[$0]), start: start($0)) }
        lives.append(try LiveConnection(port: link.port, rooms: rooms, change))
    }

    /// Joins, and hears the first three events of each room.
    func begin(isDurable: Bool = true) async throws {
        let joined = isDurable ? "joined A/0" : "joined A/0 not durable"
        try join()
        for room in names.indices { try await expect([joined], in: room) }
        try await publish(3)
        for room in names.indices { try await expect([joined, "event A/1-3"], in: room) }
    }

    /// Nobody is in the rooms while `body` runs.
    ///
    /// `saved` makes of a position that was kept the one that the next process goes on from.
    func away(
        _ absence: Absence,
        saved: (RoomPosition) -> RoomPosition = { $0 },
        _ body: (RecoveryScene) async throws -> Void
    ) async throws {
        switch absence {
        case .link:
            try await cut()
            try await body(self)
            link.mend()
        case .process:
            await live?.stop()
            try await body(self)
            let positions = try names.indices.map { try #require(items.lastPosition(in: $0)) }
            try join { .resume(saved(positions[$0])) }
        }
    }

    /// Cuts the client's link and waits until the client knows.
    func cut() async throws {
        link.cut()
        try await eventually("the end of the link") { live?.sink.statuses.last?.hasPrefix("waiting") == true }
    }

    /// Waits until what was heard is `expected`, and says what it is when that does not come.
    func expect(
        _ expected: [String],
        in room: Int = 0,
        within limit: Duration = .seconds(10),
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await settle(expected, within: limit, location) { story(room) }
    }

    /// The same where it is not determined which events come as replayed ones, and how often rooms are joined.
    func expectEvents(
        _ expected: [String],
        in room: Int = 0,
        within limit: Duration = .seconds(10),
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await settle(expected, within: limit, location) { RoomsTests.story(items.asIfLive, room: room) }
    }

    private func settle(
        _ expected: [String],
        within limit: Duration,
        _ location: SourceLocation,
        _ story: () -> [String]
    ) async throws {
        do {
            try await eventually(within: limit) { story() == expected }
        } catch is NotInTime {
            #expect(story() == expected, sourceLocation: location)
            throw NotInTime(description: "another story")
        }
    }

    /// Each payload is one that was published, in the order of publishing, and none came twice.
    func expectOrder(_ location: SourceLocation = #_sourceLocation) {
        for room in names.indices {
            let numbers = lives.flatMap { $0.sink.payloads(room) }.compactMap { payload in
                Int(String(decoding: payload, as: UTF8.self).filter(\.isNumber))
            }
            #expect(numbers == Array(Set(numbers)).sorted(), sourceLocation: location)
            #expect(numbers.allSatisfy { 1...published[room] ~= $0 }, sourceLocation: location)
        }
    }
}

extension [SinkItem] {
    /// What the bridge would have stored of a room.
    func lastPosition(in wanted: Int) -> RoomPosition? {
        reversed().lazy.compactMap { item in
            switch item {
            case .joined(wanted, let position, _): position
            case .event(wanted, _, let position, _): position
            case .gap(wanted, _, let position): position
            default: nil
            }
        }.first
    }

    /// Without joins, and every event as a live one.
    fileprivate var asIfLive: [SinkItem] {
        compactMap { item in
            switch item {
            case .joined: nil
            case .event(let room, let publication, let position, _):
                .event(room: room, publication, position: position, isReplayed: false)
            default: item
            }
        }
    }
}

/// What of a room is in Redis.
extension RecoveryScene {
    /// That of a server whose streams are there.
    var redis: RedisProcess {
        get throws { try #require(server.redis) }
    }

    private func streamKey(_ room: Int) -> String { "centrifugo.stream.\(names[room])" }
    /// Epoch and top of the stream.
    private func topKey(_ room: Int) -> String { "centrifugo.stream.meta.\(names[room])" }

    func deleteStream(_ room: Int = 0) async throws {
        try await redis.command("DEL", streamKey(room), topKey(room))
    }

    /// The room is as it was when `offset` was its top.
    func setBack(to offset: Int, of top: Int) async throws {
        try await redis.command("HSET", topKey(0), "s", "\(offset)")
        for lost in (offset + 1)...top { try await redis.command("XDEL", streamKey(0), "\(lost)-0") }
        try await redis.command("XSETID", streamKey(0), "\(offset)-0")
    }
}

extension RecoveryScene {
    func removeHistory() async throws {
        try await server.api.call("history_remove", #"{"channel":"\#(names[0])"}"#)
    }

    func waitForEmptyHistory() async throws {
        let request = #"{"channel":"\#(names[0])","limit":1}"#
        try await eventually("an empty history") {
            try await server.api.call("history", request).contains(#""publications":[]"#)
        }
    }
}
