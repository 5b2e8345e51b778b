import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// S37: what can go wrong with the stream of a room, as clients see it.
@Suite struct RoomFaultTests {
    @Test(
        "S37: a new epoch: 2500 in place of the next publication, as seen on the real server",
        arguments: [WireFormat.protobuf, .json]
    )
    func newEpoch(format: WireFormat) throws {
        let hub = try FaultyHub()
        let (client, plain) = (try hub.client(format: format), try hub.client(format: format))
        let before = try client.join("ask:1")
        let other = try plain.join("ask:1", isPositioned: false)
        #expect(before.positioned && !other.positioned)
        try hub.publish("ask:1")
        #expect(try client.nextOffset() == 1 && plain.nextOffset() == 1)
        let result = try hub.fault("new_epoch", #"{"channel":"ask:1"}"#)
        #expect(result.hasPrefix(#"{"members":2,"offset":0,"epoch":"#) && !result.contains(before.epoch.string))
        try hub.publish("ask:1")
        #expect(try client.nextUnsubscribe() == 2_500)
        // Who asked for no position hears on, and the epoch with the first offset.
        let first = try #require(try plain.wire.next().pushed)
        #expect(first.offset == 1 && !first.epoch.isEmpty && first.epoch != before.epoch)
        let after = try client.join("ask:1", since: StreamPosition(offset: 1, epoch: before.epoch))
        #expect(!after.recovered && after.epoch == first.epoch && after.offset == 1)
        try hub.publish("ask:1")
        #expect(try client.nextOffset() == 2)
    }

    @Test("who joins again before the next publication hears it")
    func rejoin() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        _ = try client.join("order:1")
        try hub.fault("new_epoch", #"{"channel":"order:1"}"#)
        try client.send(.unsubscribe(channel: "order:1"))
        #expect(try client.wire.next().body == .unsubscribe)
        _ = try client.join("order:1")
        try hub.publish("order:1")
        #expect(try client.nextOffset() == 1)
    }

    @Test("S37: a new epoch that is noticed at once, or by nobody")
    func notices() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        let before = try client.join("order:1")
        try hub.publish("order:1")
        #expect(try client.nextOffset() == 1)
        try hub.fault("new_epoch", #"{"channel":"order:1","noticed":"now"}"#)
        #expect(try client.nextUnsubscribe() == 2_500)
        _ = try client.join("order:1")
        try hub.fault("new_epoch", #"{"channel":"order:1","noticed":"never"}"#)
        try hub.publish("order:1")
        let publication = try #require(try client.wire.next().pushed)
        #expect(publication.offset == 1 && publication.epoch != before.epoch)
    }

    @Test("a server-side subscription cannot end alone: 3010")
    func serverSide() throws {
        let hub = try FaultyHub()
        let client = try hub.client(as: "alice")
        _ = try hub.hub.api("subscribe", #"{"user":"alice","channel":"order:1"}"#)
        _ = try client.wire.next()
        try hub.fault("new_epoch", #"{"channel":"order:1","noticed":"now"}"#)
        let end = try client.wire.readToClose()
        #expect(end.code == 3_010 && end.reason == "insufficient state")
    }

    @Test("S37: dropped history: the position stands, what was missed is gone")
    func dropHistory() throws {
        let hub = try FaultyHub()
        for _ in 0..<5 { try hub.publish("order:1") }
        let client = try hub.client()
        let position = StreamPosition(offset: 3, epoch: try client.join("order:1").epoch)
        #expect(try hub.fault("drop_history", #"{"channel":"order:1"}"#).hasSuffix(#","dropped":5}"#))
        let other = try hub.client()
        let result = try other.join("order:1", since: position)
        #expect(!result.recovered && result.offset == 5 && result.epoch == position.epoch)
        try hub.publish("order:1")
        #expect(try client.nextOffset() == 6 && other.nextOffset() == 6)
    }

    @Test("S37: a live hole: the offsets between are nowhere")
    func skipOffset() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        let epoch = try client.join("order:1").epoch
        try hub.publish("order:1")
        try hub.fault("skip_offset", #"{"channel":"order:1","count":3}"#)
        try hub.publish("order:1")
        #expect(try client.nextOffset() == 1 && client.nextOffset() == 5)
        let result = try hub.client().join("order:1", since: StreamPosition(offset: 1, epoch: epoch))
        #expect(!result.recovered && result.offset == 5)
    }

    @Test("offsets beyond what a Double holds")
    func largeOffsets() throws {
        let hub = try FaultyHub()
        let client = try hub.client(format: .json)
        _ = try client.join("order:1")
        try hub.fault("skip_offset", #"{"channel":"order:1","count":9007199254740993}"#)
        try hub.publish("order:1")
        #expect(try client.nextOffset() == 9_007_199_254_740_994)
        for _ in 0..<5 { try hub.fault("skip_offset", #"{"channel":"order:1","count":2305843009213693952}"#) }
        try hub.publish("order:1")
        #expect(try client.nextOffset() > 1 << 62)
    }

    @Test("S37: lost pushes leave a live hole that recovery fills")
    func losePush() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        let epoch = try client.join("order:1").epoch
        try hub.publish("order:1")
        try hub.fault("lose_push", #"{"channel":"order:1","count":2}"#)
        for _ in 0..<3 { try hub.publish("order:1") }
        #expect(try client.nextOffset() == 1 && client.nextOffset() == 4)
        let result = try hub.client().join("order:1", since: StreamPosition(offset: 1, epoch: epoch))
        #expect(result.recovered && result.publications.map(\.offset) == [2, 3, 4])
    }

    @Test("lost pushes that the hub notices: at once, or with the next publication", arguments: ["now", "publication"])
    func noticedLoss(notice: String) throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        let epoch = try client.join("order:1").epoch
        try hub.fault("lose_push", #"{"channel":"order:1","noticed":"\#(notice)"}"#)
        try hub.publish("order:1")
        if notice == "publication" { try hub.publish("order:1") }
        #expect(try client.nextUnsubscribe() == 2_500)
        let result = try client.join("order:1", since: StreamPosition(offset: 0, epoch: epoch))
        #expect(result.recovered && result.publications.count == (notice == "now" ? 1 : 2))
    }

    @Test("S37: pushes that come twice", arguments: [WireFormat.protobuf, .json])
    func duplicatePush(format: WireFormat) throws {
        let hub = try FaultyHub()
        let client = try hub.client(format: format)
        _ = try client.join("order:1")
        try hub.fault("duplicate_push", #"{"channel":"order:1","count":2}"#)
        for _ in 0..<3 { try hub.publish("order:1") }
        #expect(try (0..<5).map { _ in try client.nextOffset() } == [1, 1, 2, 2, 3])
        // A room without a stream, and nobody in it yet.
        try hub.fault("duplicate_push", #"{"channel":"live:1"}"#)
        _ = try client.join("live:1")
        try hub.publish("live:1", "7")
        #expect(try client.wire.next(2).map { $0.pushed?.data.array } == [[0x37], [0x37]])
    }

    @Test("S37: a stream that went back: its members are told, and their position is ahead of it")
    func goBack() throws {
        let hub = try FaultyHub()
        let client = try hub.client()
        let epoch = try client.join("order:1").epoch
        for _ in 0..<5 { try hub.publish("order:1") }
        #expect(try (0..<5).map { _ in try client.nextOffset() } == [1, 2, 3, 4, 5])
        let result = try hub.fault("go_back", #"{"channel":"order:1","offset":2}"#)
        #expect(result == #"{"members":0,"offset":2,"epoch":"\#(epoch)"}"#)
        #expect(try client.nextUnsubscribe() == 2_500)
        let after = try client.join("order:1", since: StreamPosition(offset: 5, epoch: epoch))
        #expect(!after.recovered && after.epoch == epoch && after.offset == 2)
        try hub.publish("order:1")
        #expect(try client.nextOffset() == 3)
        let other = try hub.client().join("order:1", since: StreamPosition(offset: 0, epoch: epoch))
        #expect(other.recovered && other.publications.map(\.offset) == [1, 2, 3])
    }
}
