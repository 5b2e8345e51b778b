import BridgeModel
import RoomsHTTP
import RoomsRuntime
import Testing

@testable import BridgeDelivery

@Suite struct RequestWriterTests {
    @Test("an event's request, byte for byte")
    func writesEvent() throws {
        let request = try self.request(Sample.delivery(.event(Sample.event(isReplayed: true))), attempt: 3)
        let body =
            #"{"id":"rb_k37rpn2nfcdpmmqplswj7znfinizvtkj","type":"room.event","timestamp":"2026-11-30T02:00:00.123Z","#
            + #""data":{"room":"order:1042","event":"updated","data":{"n":1},"meta":{"id":"xyz:18","epoch":"xyz","#
            + #""offset":18,"seq":41,"prev_seq":40,"from":null,"at":1796004000123,"replayed":true,"tags":{}}}}"#
        let expected = """
            POST /hook HTTP/1.1\r
            host: localhost\r
            webhook-id: rb_k37rpn2nfcdpmmqplswj7znfinizvtkj\r
            webhook-timestamp: 1614265330\r
            roombridge-type: room.event\r
            roombridge-room: order:1042\r
            roombridge-event: updated\r
            roombridge-epoch: xyz\r
            roombridge-offset: 18\r
            roombridge-replayed: true\r
            roombridge-seq: 41\r
            roombridge-prev-seq: 40\r
            roombridge-attempt: 3\r
            content-length: \(body.utf8.count)\r
            \r
            \(body)
            """
        #expect(request == expected)
    }

    @Test("a gap's offset is where it begins")
    func writesGap() throws {
        let gap = Gap(reason: .trimmed, epoch: "e2", from: 19, to: 31)
        let fields = try self.fields(Sample.delivery(.gap(gap, at: 1)))
        #expect(fields["roombridge-type"] == "room.gap")
        #expect(fields["roombridge-offset"] == "19")
        #expect(fields["roombridge-epoch"] == "e2")
        #expect(fields["roombridge-event"] == nil)
        #expect(fields["roombridge-replayed"] == nil)
        #expect(fields["webhook-id"]?.hasPrefix("rb_") == true)
    }

    @Test("C48: a live-only event has no epoch and no offset")
    func writesLiveOnly() throws {
        let fields = try self.fields(Sample.delivery(.event(Sample.event(offset: 0))))
        #expect(fields["webhook-id"] == "rb_l_k9_5")
        #expect(fields["roombridge-offset"] == nil)
        #expect(fields["roombridge-epoch"] == nil)
    }

    // The first is the worked example of CloudEvents' HTTP binding.
    @Test(
        "names are percent-encoded and cannot end a line",
        arguments: [
            ("Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"), ("a\r\nx: y", "a%0D%0Ax:%20y"), ("100%\"", "100%25%22"),
            ("\u{0}\u{7f}~!", "%00%7F~!"),
        ]
    )
    func encodesNames(name: String, expected: String) throws {
        let delivery = Sample.delivery(name: ByteString(name), .event(Sample.event(name: ByteString(name))))
        let fields = try self.fields(delivery)
        #expect(fields["roombridge-room"] == expected)
        #expect(fields["roombridge-event"] == expected)
    }

    @Test("a value above 4 KiB is left out")
    func dropsLongValues() throws {
        let long = ByteString([UInt8](repeating: 0x61, count: 4_097))
        let fields = try self.fields(Sample.delivery(.event(Sample.event(name: long))))
        #expect(fields["roombridge-event"] == nil)
        #expect(fields["roombridge-room"] == "order:1042")
    }

    @Test("the signature covers exactly the bytes behind the head")
    func signsBody() throws {
        let secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        let key = try SigningSecret.decode(secret)
        let request = try self.request(Sample.delivery(), keys: [key])
        let body = try #require(request.firstRange(of: "\r\n\r\n").map { request[$0.upperBound...] })
        let signed = "rb_k37rpn2nfcdpmmqplswj7znfinizvtkj.1614265330." + body
        let code = MessageAuthenticator(key: key.bytes).authenticate(Array(signed.utf8))
        let expected = "v1," + String(decoding: Base64.encode(code), as: UTF8.self)
        #expect(request.contains("webhook-signature: \(expected)\r\n"))
    }

    private func request(_ delivery: PendingDelivery, attempt: Int = 1, keys: [SigningKey] = []) throws -> String {
        let beginning = try RequestHead(method: "POST", target: "/hook", host: "localhost")
        let writer = RequestWriter(beginning: beginning, storeID: "k9", keys: keys)
        var head = RequestHead()
        for _ in 0..<2 {
            writer.write(delivery, previousSeq: 40, attempt: attempt, now: 1_614_265_330_999, into: &head)
        }
        return String(decoding: head.bytes, as: UTF8.self)
    }

    private func fields(_ delivery: PendingDelivery) throws -> [String: String] {
        let lines = try request(delivery).split(separator: "\r\n", omittingEmptySubsequences: false).dropFirst()
        var fields: [String: String] = [:]
        for line in lines.prefix(while: { !$0.isEmpty }) {
            let colon = try #require(line.firstRange(of: ": "))
            fields[String(line[..<colon.lowerBound])] = String(line[colon.upperBound...])
        }
        return fields
    }
}
