import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// What the reply to a subscription says, row by row of the protocol's recovery table.
@Suite struct RecoveryTests {
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

    @Test("the recovery table", arguments: rows)
    func table(_ row: Row) throws {
        let rule = RoomRule(pattern: "r", history: row.size, keep: .seconds(10), isPublic: true)
        let hub = HubState(rules: [rule], makeEpoch: { "OurEpoch" })
        let client = try Conversation.connected(hub)
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
        try client.publish("r", "live")
        #expect(try client.heard().map(\.pushedOffset) == [UInt64(row.published) + 1])
    }

    @Test("flag 2 turns 'not recovered' into error 112; the flag of official clients changes nothing")
    func rejectsWhenAsked() throws {
        let hub = HubState(rules: RoomRule.recorded)
        let client = try Conversation.connected(hub)
        for flag in [2, 3] as [Int64] {
            let replies = try client.subscribe("order:1") { ($0.recover, $0.offset, $0.flag) = (true, 7, flag) }
            #expect(replies.map(\.errorCode) == [112])
        }
        let result = try client.joined("order:1") { ($0.recover, $0.offset, $0.flag) = (true, 7, 1) }
        #expect(!result.recovered)
    }

    @Test("recover in a room that cannot be recovered is only mentioned")
    func notRecoverable() throws {
        let client = try Conversation.connected(HubState(rules: RoomRule.recorded))
        let live = try client.joined("live:1") { $0.recover = true }
        var expected = SubscribeResult()
        expected.wasRecovering = true
        #expect(live == expected)
        let positioned = try client.joined("position:1") { $0.recover = true }
        #expect(!positioned.recovered && positioned.wasRecovering && positioned.positioned && !positioned.recoverable)
        #expect(positioned.epoch.count == 8)
    }

    @Test("each stream has its own epoch of eight letters, and keeps it")
    func epochs() throws {
        let hub = HubState(rules: RoomRule.recorded)
        let client = try Conversation.connected(hub)
        let epochs = try (0..<50).map { try client.joined(ByteString("order:\($0)")).epoch }
        #expect(Set(epochs).count == 50)
        #expect(
            epochs.allSatisfy { $0.count == 8 && $0.bytes.allSatisfy { ($0 | 0x20) >= 0x61 && ($0 | 0x20) <= 0x7a } }
        )
        #expect(try client.publish("order:7", "x") == StreamPosition(offset: 1, epoch: epochs[7]))
    }
}
