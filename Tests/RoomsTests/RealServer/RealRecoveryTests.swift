import BridgeTestSupport
import RoomsRuntime
import Testing

@testable import Rooms

/// What happens in a room while a client is away, and what it must hear when it is back.
struct Outage: Sendable, CustomTestStringConvertible {
    let title: String
    /// The room's namespace.
    var room = "order"
    var isDurable = true
    var engines = Engine.allCases
    var absences = Absence.allCases
    var saved: @Sendable (RoomPosition) -> RoomPosition = { $0 }
    /// Three events came before.
    let away: @Sendable (RecoveryScene) async throws -> Void
    /// From the return on, with the two events that are published then.
    let expected: [String]

    var testDescription: String { title }
}

/// Recovery with a real server, whichever way it keeps its streams and the client is away.
@Suite(.serialized, SharedServers()) struct RealRecoveryTests {
    struct Run: Sendable, CustomTestStringConvertible {
        /// Makes the room's name.
        let number: Int
        let engine: Engine
        let absence: Absence
        let outage: Outage

        var testDescription: String { "\(outage.title); \(engine.rawValue), \(absence.rawValue)" }
    }

    static let runs: [Run] = {
        var runs: [Run] = []
        for outage in outages {
            for engine in outage.engines {
                for absence in outage.absences {
                    runs.append(Run(number: runs.count, engine: engine, absence: absence, outage: outage))
                }
            }
        }
        return runs
    }()

    @Test("what was missed comes in order, and what cannot come is a gap", arguments: runs)
    func recovery(_ run: Run) async throws {
        guard let server = SharedServers.current[run.engine] else { return }
        let scene = try RecoveryScene(server, rooms: ["\(run.outage.room):\(run.number)"])
        try await scene.begin(isDurable: run.outage.isDurable)
        try await scene.away(run.absence, saved: run.outage.saved, run.outage.away)
        let joined = run.outage.isDurable ? "joined A/0" : "joined A/0 not durable"
        let expected = [joined, "event A/1-3"] + run.outage.expected
        try await scene.expect(expected.dropLast())
        try await scene.publish(2)
        try await scene.expect(expected)
        scene.expectOrder()
    }

    private static let outages: [Outage] = [
        Outage(
            title: "nothing was missed",
            away: { _ in },
            expected: ["joined A/3", "event A/4-5"]
        ),
        Outage(
            title: "five were missed",
            away: { try await $0.publish(5) },
            expected: ["joined A/3", "replay A/4-8", "event A/9-10"]
        ),
        // One answer holds so many at most, as the room shows in which there is nothing else to ask.
        Outage(
            title: "300 were missed, and history is refused",
            room: "nohistory",
            away: { try await $0.publish(300) },
            expected: ["joined A/3", "replay A/4-303", "event A/304-305"]
        ),
        Outage(
            title: "301 were missed, and history is refused",
            room: "nohistory",
            away: { try await $0.publish(301) },
            expected: ["joined A/3", "gap not_permitted A/4-304 then A/304", "event A/305-306"]
        ),
        Outage(
            title: "301 were missed",
            away: { try await $0.publish(301) },
            expected: ["joined A/3", "replay A/4-304", "event A/305-306"]
        ),
        Outage(
            title: "997 were missed, as many as there are, and the oldest of them is the next",
            away: { try await $0.publish(1_000) },
            expected: ["joined A/3", "replay A/4-1003", "event A/1004-1005"]
        ),
        Outage(
            title: "the oldest were trimmed",
            room: "few",
            away: { try await $0.publish(20) },
            expected: ["joined A/3", "gap trimmed A/4-13 then A/13", "replay A/14-23", "event A/24-25"]
        ),
        Outage(
            title: "the oldest were trimmed, and history is refused",
            room: "fewnohistory",
            away: { try await $0.publish(20) },
            expected: ["joined A/3", "gap not_permitted A/4-23 then A/23", "event A/24-25"]
        ),
        Outage(
            title: "all that was missed ran out of time",
            room: "short",
            absences: [.link],
            away: { scene in
                try await scene.publish(5)
                try await scene.waitForEmptyHistory()
            },
            expected: ["joined A/3", "gap trimmed A/4-8 then A/8", "event A/9-10"]
        ),
        Outage(
            title: "what was heard ran out of time, and nothing was missed",
            room: "short",
            absences: [.process],
            away: { try await $0.waitForEmptyHistory() },
            expected: ["joined A/3", "event A/4-5"]
        ),
        Outage(
            title: "the history was removed",
            away: { scene in
                try await scene.publish(5)
                try await scene.removeHistory()
            },
            expected: ["joined A/3", "gap trimmed A/4-8 then A/8", "event A/9-10"]
        ),
        Outage(
            title: "the history was removed in between",
            away: { scene in
                try await scene.publish(2)
                try await scene.removeHistory()
                try await scene.publish(3)
            },
            expected: ["joined A/3", "gap trimmed A/4-5 then A/5", "replay A/6-8", "event A/9-10"]
        ),
        Outage(
            title: "the stream is another one",
            away: { scene in
                try await scene.publish(1)
                try await scene.server.forget()
                try await scene.publish(2)
            },
            expected: ["joined A/3", "gap epoch_changed A/4- then B/0", "replay B/1-2", "event B/3-4"]
        ),
        Outage(
            title: "the stream is another one, in which nothing is yet",
            away: { try await $0.server.forget() },
            expected: ["joined A/3", "gap epoch_changed A/4- then B/0", "event B/1-2"]
        ),
        Outage(
            title: "the stream is another one, which is longer",
            away: { scene in
                try await scene.server.forget()
                try await scene.publish(400)
            },
            expected: ["joined A/3", "gap epoch_changed A/4- then B/0", "replay B/1-400", "event B/401-402"]
        ),
        Outage(
            title: "the stream is another one, of which the oldest were trimmed",
            room: "few",
            away: { scene in
                try await scene.server.forget()
                try await scene.publish(12)
            },
            expected: [
                "joined A/3", "gap epoch_changed A/4- then B/0", "gap trimmed B/1-2 then B/2", "replay B/3-12",
                "event B/13-14",
            ]
        ),
        Outage(
            title: "the stream is another one, and history is refused",
            room: "nohistory",
            away: { scene in
                try await scene.server.forget()
                try await scene.publish(2)
            },
            expected: [
                "joined A/3", "gap epoch_changed A/4- then B/0", "gap not_permitted B/1-2 then B/2", "event B/3-4",
            ]
        ),
        Outage(
            title: "the room was deleted from Redis",
            engines: [.redis],
            away: { scene in
                try await scene.deleteStream()
                try await scene.publish(1)
            },
            expected: ["joined A/3", "gap epoch_changed A/4- then B/0", "replay B/1", "event B/2-3"]
        ),
        Outage(
            title: "the server was killed and is back",
            engines: [.redis],
            away: { scene in
                try await scene.publish(2)
                try await scene.server.kill()
                try await scene.server.start()
                try await scene.publish(3)
            },
            expected: ["joined A/3", "replay A/4-8", "event A/9-10"]
        ),
        Outage(
            title: "the position is ahead of the stream",
            absences: [.process],
            saved: { RoomPosition(epoch: $0.epoch, offset: $0.offset + 5) },
            away: { _ in },
            expected: ["joined A/8", "gap went_back A/4-8 then A#1/3", "event A#1/4-5"]
        ),
        Outage(
            title: "Redis was set back to an older copy of its data",
            engines: [.redis],
            away: { scene in
                try await scene.setBack(to: 1, of: 3)
            },
            expected: ["joined A/3", "gap went_back A/2-3 then A#1/1", "event A#1/2-3"]
        ),
        Outage(
            title: "the room is positioned only, and history is refused",
            room: "position",
            isDurable: false,
            away: { try await $0.publish(5) },
            expected: ["joined A/3 not durable", "gap not_permitted A/4-8 then A/8", "event A/9-10"]
        ),
        // 4.5: only the latest is there, and the protocol does not say so.
        Outage(
            title: "the room keeps its latest only",
            room: "cache",
            away: { try await $0.publish(4) },
            expected: ["joined A/3", "gap trimmed A/4-6 then A/6", "replay A/7", "event A/8-9"]
        ),
        Outage(
            title: "the room keeps its latest only, and nothing was missed",
            room: "cache",
            away: { _ in },
            expected: ["joined A/3", "event A/4-5"]
        ),
        Outage(
            title: "the room keeps its latest only, and the stream is another one",
            room: "cache",
            away: { scene in
                try await scene.server.forget()
                try await scene.publish(4)
            },
            expected: [
                "joined A/3", "gap epoch_changed A/4- then B/0", "gap trimmed B/1-3 then B/3", "replay B/4",
                "event B/5-6",
            ]
        ),
        Outage(
            title: "the room keeps its latest only, and the position is ahead of the stream",
            room: "cache",
            absences: [.process],
            saved: { RoomPosition(epoch: $0.epoch, offset: $0.offset + 5) },
            away: { try await $0.publish(1) },
            expected: ["joined A/8", "gap went_back A/4-8 then A#1/3", "replay A#1/4", "event A#1/5-6"]
        ),
    ]

    @Test(
        "a room that gives its latest to everybody gives it to a newcomer, who has no gap",
        arguments: Engine.allCases
    )
    func latestUnasked(_ engine: Engine) async throws {
        guard let server = SharedServers.current[engine] else { return }
        let scene = try RecoveryScene(server, rooms: ["autocache:1"])
        try await scene.publish(3)
        try scene.join()
        try await scene.expect(["joined A/2", "replay A/3"])
        try await scene.publish(2)
        try await scene.expect(["joined A/2", "replay A/3", "event A/4-5"])
        try await scene.away(.link) { try await $0.publish(3) }
        let back = [
            "joined A/2", "replay A/3", "event A/4-5", "joined A/5", "gap trimmed A/6-7 then A/7", "replay A/8",
        ]
        try await scene.expect(back)
        scene.expectOrder()
    }
}
