import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S20, S21, S24 and S25: streams, what the reply to a subscription says of them, and pages of them.
@Suite struct RecoveryConformanceTests {
    struct Row: Sendable, CustomStringConvertible {
        var name: String
        var published: Int
        var size = 1_000
        var isExpired = false
        /// Nil: no `recover`.
        var offset: UInt64?
        /// Nil: the stream's own.
        var epoch: ByteString?
        var recovered: Bool
        var publications: ClosedRange<UInt64>?
        var replyOffset: UInt64

        var description: String { name }
    }

    static let rows = [
        Row(name: "no recover", published: 5, offset: nil, recovered: false, replyOffset: 5),
        Row(name: "all there", published: 8, offset: 5, recovered: true, publications: 6...8, replyOffset: 5),
        Row(name: "all, from 0", published: 3, offset: 0, recovered: true, publications: 1...3, replyOffset: 0),
        Row(name: "nothing missed", published: 8, offset: 8, recovered: true, replyOffset: 8),
        Row(name: "nothing ever", published: 0, offset: 0, epoch: "", recovered: true, replyOffset: 0),
        Row(name: "300 missed", published: 310, offset: 10, recovered: true, publications: 11...310, replyOffset: 10),
        Row(name: "301 missed", published: 311, offset: 10, recovered: false, replyOffset: 311),
        Row(
            name: "oldest needed is there",
            published: 23,
            size: 10,
            offset: 13,
            recovered: true,
            publications: 14...23,
            replyOffset: 13
        ),
        Row(name: "oldest needed is trimmed", published: 23, size: 10, offset: 12, recovered: false, replyOffset: 23),
        Row(name: "expired", published: 5, isExpired: true, offset: 3, recovered: false, replyOffset: 5),
        Row(name: "expired, nothing missed", published: 5, isExpired: true, offset: 5, recovered: true, replyOffset: 5),
        Row(name: "ahead of the stream", published: 4, offset: 99, recovered: false, replyOffset: 4),
        Row(name: "far ahead", published: 4, offset: .max, recovered: false, replyOffset: 4),
        Row(name: "another epoch", published: 4, offset: 2, epoch: "WrongEpo", recovered: false, replyOffset: 4),
        Row(name: "another epoch, same top", published: 4, offset: 4, epoch: "_", recovered: false, replyOffset: 4),
        Row(
            name: "epoch not known",
            published: 4,
            offset: 2,
            epoch: "",
            recovered: true,
            publications: 3...4,
            replyOffset: 2
        ),
        Row(
            name: "epoch not known, trimmed",
            published: 23,
            size: 10,
            offset: 0,
            epoch: "",
            recovered: false,
            replyOffset: 23
        ),
    ]

    @Test("S21 the recovery table", arguments: rows, WireFormat.allCases)
    func table(_ row: Row, _ format: WireFormat) throws {
        let rule = RoomRule(pattern: "r", history: row.size, keep: .seconds(10), isPublic: true)
        let hub = HubState(rules: [rule], makeEpoch: { "OurEpoch" })
        let client = try Conversation.connected(hub, format: format)
        for number in 0..<row.published { try client.publish("r", "\(number + 1)") }
        if row.isExpired { _ = try client.pass(.seconds(10)) }
        let result = try client.joined("r") { request in
            guard let offset = row.offset else { return }
            request.recover = true
            request.offset = offset
            request.epoch = row.epoch ?? "OurEpoch"
        }
        #expect(result.recovered == row.recovered)
        #expect(result.publications.map(\.offset) == row.publications.map(Array.init) ?? [])
        #expect(
            result.publications.map { ByteString($0.data.array).string } == result.publications.map { "\($0.offset)" }
        )
        #expect(result.offset == row.replyOffset)
        #expect(result.epoch == "OurEpoch")
        #expect(result.wasRecovering == (row.offset != nil))
        #expect(result.recoverable && result.positioned)
        try client.publish("r", "0")
        #expect(try client.heard().map(\.pushedOffset) == [UInt64(row.published) + 1])
    }

    @Test("S21 recover in a room that cannot be recovered is only mentioned", arguments: WireFormat.allCases)
    func notRecoverable(_ format: WireFormat) throws {
        let client = try Conversation.connected(HubState(rules: RoomRule.recorded), format: format)
        let live = try client.joined("live:1") { $0.recover = true }
        var expected = SubscribeResult()
        expected.wasRecovering = true
        #expect(live == expected)
        let positioned = try client.joined("position:1") { $0.recover = true }
        #expect(!positioned.recovered && positioned.wasRecovering && positioned.positioned && !positioned.recoverable)
        #expect(positioned.epoch.count == 8)
    }

    @Test("S21 the limits of recovery are what the configuration says", arguments: WireFormat.allCases)
    func configuredLimit(_ format: WireFormat) throws {
        var settings = SessionSettings()
        settings.recoveryLimit = 2
        let client = try Conversation.connected(HubState(rules: RoomRule.recorded, settings: settings), format: format)
        for number in 1...5 { try client.publish("order:1", "\(number)") }
        for (offset, recovered) in [(3, true), (2, false)] as [(UInt64, Bool)] {
            let result = try client.joined("order:1") { ($0.recover, $0.offset) = (true, offset) }
            #expect(result.recovered == recovered && result.publications.count == (recovered ? 2 : 0))
            _ = try client.say(.unsubscribe(channel: "order:1"))
        }
    }

    @Test(
        "S24 flag 2 turns 'not recovered' into error 112; every other bit changes nothing",
        arguments: WireFormat.allCases
    )
    func rejectsWhenAsked(_ format: WireFormat) throws {
        let client = try Conversation.connected(HubState(rules: RoomRule.recorded), format: format)
        for flag in [2, 3, 6, -1] as [Int64] {
            let replies = try client.subscribe("order:1") { ($0.recover, $0.offset, $0.flag) = (true, 7, flag) }
            #expect(replies.map(\.errorCode) == [112], "\(flag)")
        }
        for flag in [0, 1, 4, 8, 1 << 40, -3] as [Int64] {
            let result = try client.joined("order:1") { ($0.recover, $0.offset, $0.flag) = (true, 7, flag) }
            #expect(!result.recovered && result.wasRecovering && result.id == 0, "\(flag)")
            _ = try client.say(.unsubscribe(channel: "order:1"))
        }
        // What can be recovered is, and what does not recover is not refused.
        #expect(try client.joined("order:1") { ($0.recover, $0.flag) = (true, 2) }.recovered)
        #expect(try client.joined("order:2") { $0.flag = 2 }.positioned)
        #expect(try client.joined("live:1") { ($0.recover, $0.flag) = (true, 2) }.wasRecovering)
    }

    // MARK: streams

    @Test("S20 each stream has its own epoch of eight letters, and offsets from 1", arguments: WireFormat.allCases)
    func epochs(_ format: WireFormat) throws {
        let client = try Conversation.connected(HubState(rules: RoomRule.recorded), format: format)
        let epochs = try (0..<50).map { try client.joined(ByteString("order:\($0)")).epoch }
        #expect(Set(epochs).count == 50)
        #expect(epochs.allSatisfy { $0.string.wholeMatch(of: /[A-Za-z]{8}/) != nil })
        for number in 1...3 as ClosedRange<UInt64> {
            #expect(try client.publish("order:7", "1") == StreamPosition(offset: number, epoch: epochs[7]))
        }
        #expect(try client.publish("order:8", "1") == StreamPosition(offset: 1, epoch: epochs[8]))
    }

    @Test(
        "S20 a stream keeps its size, then nothing when its time is over, but always epoch and top",
        arguments: WireFormat.allCases
    )
    func trims(_ format: WireFormat) throws {
        let rule = RoomRule(pattern: "r", history: 10, keep: .seconds(10), isPublic: true)
        let client = try Conversation.connected(HubState(rules: [rule], makeEpoch: { "OurEpoch" }), format: format)
        func kept() throws -> [UInt64] {
            let page = try client.bytes(format.frame([.history("r", limit: -1)]))
            guard case .history(let result) = page.last?.body else { throw TestFailure("\(page)") }
            #expect(result.epoch == "OurEpoch" && result.offset >= 23)
            return result.publications.map(\.offset)
        }
        _ = try client.joined("r")
        for number in 1...23 { try client.publish("r", "\(number)") }
        #expect(try kept() == Array(14...23))
        // Each publication puts the end of all off.
        _ = try client.pass(.seconds(9))
        try client.publish("r", "24")
        _ = try client.pass(.seconds(9))
        #expect(try kept() == Array(15...24))
        _ = try client.pass(.seconds(1))
        #expect(try kept() == [])
        #expect(try client.publish("r", "25") == StreamPosition(offset: 25, epoch: "OurEpoch"))
        #expect(try kept() == [25])
    }

    @Test("S20 history_remove empties a stream, and keeps epoch and top", arguments: WireFormat.allCases)
    func removed(_ format: WireFormat) throws {
        let hub = try RunningHub()
        for number in 1...3 { _ = try hub.api("publish", #"{"channel":"order:1","data":\#(number)}"#) }
        #expect(try hub.api("history_remove", #"{"channel":"order:1"}"#).body == #"{"result":{}}"#)
        let client = try hub.connected(format)
        let result = try client.joined("order:1") { ($0.recover, $0.offset) = (true, 1) }
        #expect(!result.recovered && result.wasRecovering && result.offset == 3 && result.publications.isEmpty)
        #expect(
            try hub.api("publish", #"{"channel":"order:1","data":4}"#).body.contains(
                #""offset":4,"epoch":"\#(result.epoch)""#
            )
        )
    }

    // MARK: pages

    struct Page: Sendable, CustomStringConvertible {
        var limit: Int32
        var since: UInt64?
        var isReverse = false
        var expected: [UInt64]

        var description: String { "limit \(limit), since \(since.map(String.init) ?? "nothing"), reverse \(isReverse)" }
    }

    /// Of a stream with 350 publications, the newest 310 of them kept.
    static let pageRows = [
        Page(limit: 0, expected: []), Page(limit: -1, expected: Array(41...340)),
        Page(limit: -5, expected: Array(41...340)),
        Page(limit: 300, expected: Array(41...340)), Page(limit: 301, expected: Array(41...340)),
        Page(limit: .max, expected: Array(41...340)), Page(limit: 2, expected: [41, 42]),
        Page(limit: 2, since: 0, expected: [41, 42]), Page(limit: 1_000, since: 345, expected: Array(346...350)),
        Page(limit: 2, since: 100, expected: [101, 102]), Page(limit: 2, since: 40, expected: [41, 42]),
        Page(limit: 2, since: 350, expected: []), Page(limit: 2, since: 999, expected: []),
        Page(limit: 0, since: 100, expected: []), Page(limit: 2, isReverse: true, expected: [350, 349]),
        Page(limit: -1, isReverse: true, expected: (51...350).reversed()),
        Page(limit: 2, since: 100, isReverse: true, expected: [99, 98]),
        Page(limit: 2, since: 42, isReverse: true, expected: [41]),
        Page(limit: 2, since: 41, isReverse: true, expected: []),
        Page(limit: 2, since: 3, isReverse: true, expected: []),
        Page(limit: 2, since: 1, isReverse: true, expected: []),
        Page(limit: 2, since: 351, isReverse: true, expected: [350, 349]),
        // Whoever is further ahead is told of nothing.
        Page(limit: 2, since: 352, isReverse: true, expected: []),
        Page(limit: 2, since: .max, isReverse: true, expected: []),
    ]

    private func paged(_ format: WireFormat) throws -> Conversation {
        let rule = RoomRule(pattern: "r", history: 310, isPublic: true)
        let hub = HubState(rules: [rule] + RoomRule.recorded, makeEpoch: { "OurEpoch" })
        let client = try Conversation.connected(hub, format: format)
        for number in 1...350 { try client.publish("r", "\(number)") }
        _ = try client.joined("r")
        return client
    }

    @Test("S25 pages: limit 0, clamped to 300, since exclusive, reverse", arguments: WireFormat.allCases)
    func pages(_ format: WireFormat) throws {
        let client = try paged(format)
        for page in Self.pageRows {
            for epoch in ["OurEpoch", ""] as [ByteString] {
                let since = page.since.map { StreamPosition(offset: $0, epoch: epoch) }
                let command = Command.history("r", limit: page.limit, since: since, reverse: page.isReverse)
                let replies = try client.bytes(format.frame([command]))
                guard case .history(let result) = replies.first?.body else { throw TestFailure("\(page): \(replies)") }
                #expect(result.publications.map(\.offset) == page.expected, "\(page)")
                #expect(result.offset == 350 && result.epoch == "OurEpoch", "\(page)")
            }
        }
    }

    static let refusedPages: [(Command, UInt32)] = [
        (.history("r", limit: 0, since: StreamPosition(offset: 1, epoch: "WrongEpo")), 112),
        (.history("r", limit: 2, since: StreamPosition(offset: 0, epoch: "WrongEpo")), 112),
        (.history("r", limit: 2, since: StreamPosition(offset: 0, epoch: ""), reverse: true), 107),
        (.history("r", limit: 0, since: StreamPosition(offset: 0, epoch: "OurEpoch"), reverse: true), 107),
        (.history("live:1", limit: 2), 108), (.history("closed:1", limit: 2), 108),
        (.history("nosuch:1", limit: 2), 102),
        (.history("order:1", limit: 2), 103), (.history("nohistory:1", limit: 2), 103),
    ]

    @Test("S25 pages that are refused", arguments: refusedPages, WireFormat.allCases)
    func refused(_ row: (Command, UInt32), _ format: WireFormat) throws {
        let client = try paged(format)
        for name in ["live:1", "nohistory:1"] as [ByteString] { _ = try client.joined(name) }
        #expect(try client.bytes(format.frame([row.0])).map(\.errorCode) == [row.1])
        #expect(client.session.ending == nil)
    }

    @Test("S25 the limit of pages is what the configuration says", arguments: WireFormat.allCases)
    func configuredPages(_ format: WireFormat) throws {
        var settings = SessionSettings()
        settings.historyLimit = 2
        let client = try Conversation.connected(HubState(rules: RoomRule.recorded, settings: settings), format: format)
        for number in 1...5 { try client.publish("order:1", "\(number)") }
        _ = try client.joined("order:1")
        for limit in [2, 3, -1] as [Int32] {
            let replies = try client.bytes(format.frame([.history("order:1", limit: limit)]))
            guard case .history(let result) = replies.first?.body else { throw TestFailure("\(replies)") }
            #expect(result.publications.map(\.offset) == [1, 2])
        }
    }
}
