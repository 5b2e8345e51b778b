import BridgeModel
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import BridgeDelivery

@Suite struct StandardBodyTests {
    @Test("an event in full")
    func writesEvent() {
        let event = Sample.event(
            #"{ "b": 12345678901234567890, "a":1.0, "a": "\/" }"#,
            from: "u\"1",
            isReplayed: true,
            tags: Array(#"{"k":"v"}"#.utf8)
        )
        let expected =
            #"{"id":"rb_x","type":"room.event","timestamp":"2026-11-30T02:00:00.123Z","data":{"room":"order:1042","#
            + #""event":"updated","data":{ "b": 12345678901234567890, "a":1.0, "a": "\/" },"meta":{"id":"xyz:18","#
            + #""epoch":"xyz","offset":18,"seq":41,"prev_seq":40,"from":"u\"1","at":1796004000123,"replayed":true,"#
            + #""tags":{"k":"v"}}}}"#
        #expect(text(Sample.delivery(.event(event)), previous: 40) == expected)
    }

    @Test("an event without an offset has no place in its stream")
    func writesLiveOnly() {
        let expected =
            #"{"id":"rb_x","type":"room.event","timestamp":"2026-11-30T02:00:00.123Z","data":{"room":"order:1042","#
            + #""event":"updated","data":{"n":1},"meta":{"seq":41,"prev_seq":0,"from":null,"at":1796004000123,"#
            + #""replayed":false,"tags":{}}}}"#
        #expect(text(Sample.delivery(.event(Sample.event(offset: 0)))) == expected)
    }

    @Test("the data of an envelope is spliced in alone, a sealed one under its own name, the rest as base64")
    func writesShapes() {
        let envelope = #"{"event":"e","data": [1, 2] }"#
        let inner = Sample.event(envelope, shape: .json(21..<27))
        #expect(text(Sample.delivery(.event(inner))).contains(#""event":"updated","data":[1, 2],"meta""#))
        let sealed = Sample.event(#"{"event":"e","sealed":"a.b.c"}"#, shape: .sealed(22..<29))
        #expect(text(Sample.delivery(.event(sealed))).contains(#""event":"updated","sealed":"a.b.c","meta""#))
        for (payload, base64) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj")] {
            let binary = Sample.event(payload, shape: .binary)
            #expect(text(Sample.delivery(.event(binary))).contains("\"data_base64\":\"\(base64)\",\"meta\""))
        }
    }

    @Test("a gap with and without an end")
    func writesGap() {
        let gap = Gap(reason: .trimmed, epoch: "xyz", from: 19, to: 31)
        let expected =
            #"{"id":"rb_x","type":"room.gap","timestamp":"1970-01-01T00:00:00.000Z","data":{"room":"order:1042","#
            + #""gap":{"epoch":"xyz","from":19,"to":31,"reason":"trimmed"},"meta":{"seq":41,"prev_seq":40}}}"#
        #expect(text(Sample.delivery(.gap(gap, at: 0)), previous: 40) == expected)
        let open = Gap(reason: .epochChanged, epoch: "xyz", from: 19, to: nil)
        #expect(
            text(Sample.delivery(.gap(open, at: 0))).contains(
                #""gap":{"epoch":"xyz","from":19,"reason":"epoch_changed"}"#
            )
        )
    }

    @Test("names from outside are always valid JSON", arguments: ["a\"b", "a\\b", "a\nb", "\u{0}", "ä€😀", "\u{7f}"])
    func escapes(name: String) throws {
        var delivery = Sample.delivery(.event(Sample.event(name: ByteString(name), epoch: ByteString(name))))
        delivery.room = RoomKey(server: "main", room: ByteString(name))
        let parsed = try JSONSerialization.jsonObject(with: Data(text(delivery).utf8)) as? [String: Any]
        let data = try #require(parsed?["data"] as? [String: Any])
        #expect(data["room"] as? String == name)
        #expect(data["event"] as? String == name)
        #expect((data["meta"] as? [String: Any])?["id"] as? String == "\(name):18")
    }

    @Test("bytes that are not UTF-8 become replacement characters")
    func replacesInvalidText() throws {
        let delivery = Sample.delivery(name: ByteString([0x61, 0xff, 0x62]))
        let parsed = try JSONSerialization.jsonObject(with: Data(text(delivery).utf8)) as? [String: Any]
        #expect((parsed?["data"] as? [String: Any])?["room"] as? String == "a\u{fffd}b")
    }

    @Test("times are what Foundation makes of them")
    func formatsTimes() {
        var random = SeededRandom(seed: 4)
        let formatter = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let special: [Int64] = [
            0, -1, 951_782_400_000, 951_868_799_999, 4_107_542_400_000, 68_255_999_999, 253_402_300_799_999,
        ]
        for at in special
            + (0..<2_000).map({ _ in Int64.random(in: -2_000_000_000_000...250_000_000_000_000, using: &random) })
        {
            var text: [UInt8] = []
            text.append(timestamp: at)
            // The middle of the millisecond: Foundation rounds a Double down.
            let date = Date(timeIntervalSince1970: (Double(at) + 0.5) / 1_000)
            #expect(String(decoding: text, as: UTF8.self) == date.formatted(formatter), "\(at)")
        }
    }

    @Test(
        "absurd times are clamped to four-digit years",
        arguments: [(Int64.min, "0000-01-01T00:00:00.000Z"), (.max, "9999-12-31T23:59:59.999Z")]
    )
    func clampsTimes(at: Int64, expected: String) {
        var text: [UInt8] = []
        text.append(timestamp: at)
        #expect(String(decoding: text, as: UTF8.self) == expected)
    }

    private func text(_ delivery: PendingDelivery, previous: Int64 = 0) -> String {
        var text: [UInt8] = []
        StandardBody.append(delivery, RecordContext(id: Array("rb_x".utf8), previousSeq: previous), to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
