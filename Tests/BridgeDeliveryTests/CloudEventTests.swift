import BridgeModel
import RoomsHTTP
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

@Suite struct CloudEventTests {
    @Test("an event in structured mode, byte for byte")
    func structured() throws {
        let event = Sample.event(
            #"{ "b": 12345678901234567890, "a":1.0, "a": "\/" }"#,
            from: "u1",
            isReplayed: true,
            tags: Array(#"{"shop":"n\"1","Not-A-Name":"x"}"#.utf8)
        )
        let request = try written(Sample.delivery(.event(event)), .cloudEvents, skipped: 2)
        let expected =
            #"{"specversion":"1.0","id":"rb_k37rpn2nfcdpmmqplswj7znfinizvtkj","source":"/roombridge/main/order:1042","#
            + #""type":"room.event","subject":"order:1042","time":"2026-11-30T02:00:00.123Z","#
            + #""sequence":"00000000000000000041","partitionkey":"order:1042","roomevent":"updated","roomepoch":"xyz","#
            + #""roomoffset":"18","roomprevseq":"40","roomskipped":"2","roomfrom":"u1","roomreplayed":true,"#
            + #""roomtagshop":"n\"1","datacontenttype":"application/json","#
            + #""data":{ "b": 12345678901234567890, "a":1.0, "a": "\/" }}"#
        #expect(request.text == expected)
        #expect(request["content-type"] == "application/cloudevents+json; charset=UTF-8")
        #expect(request["roombridge-skipped"] == "2" && request["roombridge-seq"] == "41")
    }

    @Test("the same in binary mode: attributes in the head, the data alone in the body")
    func binary() throws {
        let event = Sample.event(#"{ "n":1.0 }"#, from: "u1", isReplayed: true)
        let request = try written(Sample.delivery(.event(event)), .cloudEventsBinary)
        #expect(request.text == #"{ "n":1.0 }"#)
        let fields = request.fields.filter { $0.key.hasPrefix("ce-") || $0.key == "content-type" }
        #expect(
            fields == [
                "content-type": "application/json", "ce-specversion": "1.0",
                "ce-id": "rb_k37rpn2nfcdpmmqplswj7znfinizvtkj", "ce-source": "/roombridge/main/order:1042",
                "ce-type": "room.event", "ce-subject": "order:1042", "ce-time": "2026-11-30T02:00:00.123Z",
                "ce-sequence": "00000000000000000041", "ce-partitionkey": "order:1042", "ce-roomevent": "updated",
                "ce-roomepoch": "xyz", "ce-roomoffset": "18", "ce-roomprevseq": "40", "ce-roomfrom": "u1",
                "ce-roomreplayed": "true",
            ]
        )
    }

    // The first is the worked example of CloudEvents' HTTP binding, section 3.1.3.2.
    @Test(
        "attributes are percent-encoded in the head; in the source the name is part of a path",
        arguments: [
            (
                "Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80",
                "/roombridge/main/Euro%2520%25E2%2582%25AC%2520%25F0%259F%2598%2580"
            ), ("100%\"~!", "100%25%22~!", "/roombridge/main/100%2525%2522~!"),
            ("a/b?c", "a/b?c", "/roombridge/main/a%252Fb%253Fc"),
        ]
    )
    func encodes(name: String, subject: String, source: String) throws {
        let delivery = Sample.delivery(name: ByteString(name), .event(Sample.event(name: ByteString(name))))
        let request = try written(delivery, .cloudEventsBinary)
        #expect(request["ce-subject"] == subject && request["ce-roomevent"] == subject)
        #expect(request["ce-source"] == source)
    }

    @Test(
        "what cannot be the value of an attribute is none",
        arguments: [Array("a\r\nb".utf8), [0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], Array("\u{85}".utf8), []]
            + [Array("\u{ffff}".utf8), [UInt8](repeating: 0x61, count: 4_097)]
    )
    func leavesOut(name: [UInt8]) throws {
        let delivery = Sample.delivery(name: ByteString(name), .event(Sample.event(name: ByteString(name))))
        for format in [DeliveryFormat.cloudEvents, .cloudEventsBinary] {
            let request = try written(delivery, format)
            #expect(request["ce-subject"] == nil && request["ce-roomevent"] == nil)
            #expect(!request.text.contains("subject") && !request.text.contains("roomevent"))
            #expect(request["webhook-id"] != nil)
        }
    }

    @Test(
        "sealed data and data that is not JSON say what they are",
        arguments: [
            (#"{"event":"e","sealed":"a.b-_.c"}"#, 22..<31, "application/jose", #""data":"a.b-_.c"}"#, "a.b-_.c"),
            (
                #"{"event":"e","sealed":{"a": 1}}"#, 22..<30, "application/jose+json", #""data":{"a": 1}}"#,
                #"{"a": 1}"#
            ), ("ab", nil, "application/octet-stream", #""data_base64":"YWI="}"#, "ab"),
        ] as [(String, Range<Int>?, String, String, String)]
    )
    func otherData(payload: String, range: Range<Int>?, type: String, member: String, body: String) throws {
        let event = Sample.event(payload, shape: range.map { .sealed($0) } ?? .binary)
        let structured = try written(Sample.delivery(.event(event)), .cloudEvents)
        #expect(structured.text.hasSuffix(#","datacontenttype":"\#(type)",\#(member)"#), "\(structured.text)")
        let binary = try written(Sample.delivery(.event(event)), .cloudEventsBinary)
        #expect(binary.text == body && binary["content-type"] == type)
    }

    @Test("a gap, in every format", arguments: DeliveryFormat.allCases)
    func gap(format: DeliveryFormat) throws {
        let gap = Gap(reason: .trimmed, epoch: "xyz", from: 19, to: 31)
        let request = try written(Sample.delivery(.gap(gap, at: 0)), format)
        let data = #"{"epoch":"xyz","from":19,"to":31,"reason":"trimmed"}"#
        let standard =
            #","type":"room.gap","timestamp":"1970-01-01T00:00:00.000Z","data":{"room":"order:1042","gap":\#(data),"#
            + #""meta":{"seq":41,"prev_seq":40}}}"#
        switch format {
        case .standard, .raw: #expect(request.text.hasSuffix(standard))
        case .ndjson: #expect(request.text.hasSuffix(standard + "\n"))
        case .cloudEvents: #expect(request.text.hasSuffix(#","datacontenttype":"application/json","data":\#(data)}"#))
        case .cloudEventsBinary:
            #expect(request.text == data)
            #expect(request["ce-type"] == "room.gap" && request["ce-roomoffset"] == "19")
            #expect(request["ce-time"] == "1970-01-01T00:00:00.000Z")
        }
        #expect(request["roombridge-type"] == "room.gap" && request["roombridge-offset"] == "19")
        #expect(format != .raw && format != .cloudEventsBinary || request["content-type"] == "application/json")
    }

    @Test(
        "what the bridge itself tells, in every format",
        arguments: DeliveryFormat.allCases,
        [
            (RoomNotice.Kind.member, #"{"event":"join","user":"ann","client":"c"}"#), (.count, #"{"n":2}"#),
            (.state, #"{"state":"kicked","code":"kicked","message":"x"}"#),
        ]
    )
    func notice(format: DeliveryFormat, told: (kind: RoomNotice.Kind, text: String)) throws {
        let notice = RoomNotice(kind: told.kind, text: Payload(told.text), at: 0)
        let request = try written(Sample.delivery(.notice(notice)), format)
        let name = told.kind.rawValue
        let standard =
            #"{"id":"rb_l_k9_5","type":"room.\#(name)","timestamp":"1970-01-01T00:00:00.000Z","data":{"room":"#
            + #""order:1042","\#(name)":\#(told.text),"meta":{"seq":41,"prev_seq":40}}}"#
        switch format {
        case .standard, .raw: #expect(request.text == standard)
        case .ndjson: #expect(request.text == standard + "\n")
        case .cloudEvents:
            #expect(
                request.text.hasPrefix(
                    #"{"specversion":"1.0","id":"rb_l_k9_5","source":"/roombridge/main/order:1042","#
                )
            )
            #expect(request.text.contains(#""type":"room.\#(name)""#))
            #expect(request.text.hasSuffix(#","datacontenttype":"application/json","data":\#(told.text)}"#))
        case .cloudEventsBinary:
            #expect(request.text == told.text)
            #expect(request["ce-type"] == "room.\(name)" && request["ce-roomoffset"] == nil)
        }
        #expect(request["roombridge-type"] == "room.\(name)" && request["webhook-id"] == "rb_l_k9_5")
        #expect(request["roombridge-room"] == "order:1042" && request["roombridge-seq"] == "41")
        for absent in ["roombridge-event", "roombridge-epoch", "roombridge-offset"] { #expect(request[absent] == nil) }
    }

    @Test("raw is the whole publication, its envelope too")
    func raw() throws {
        let text = "{\n\"event\":\"e\",\"data\": [1] }\n"
        let request = try written(Sample.delivery(.event(Sample.event(text, shape: .json(22..<25)))), .raw)
        #expect(request.text == text && request["content-type"] == "application/json")
        let other = try written(Sample.delivery(.event(Sample.event("", shape: .binary))), .raw)
        #expect(other.body.isEmpty && other["content-type"] == "application/octet-stream")
        #expect(other["content-length"] == "0")
    }

    private func written(
        _ delivery: PendingDelivery,
        _ format: DeliveryFormat,
        skipped: Int64 = 0
    ) throws -> WrittenRequest {
        var settings = EndpointSettings(
            id: Sample.endpoint,
            name: "orders",
            target: StreamTarget(host: "127.0.0.1", port: 1),
            path: "/hook",
            host: "localhost"
        )
        settings.format = format
        let writer = RequestWriter(
            beginning: try settings.requestBeginning(),
            storeID: "k9",
            keys: [],
            format: format
        )
        var head = RequestHead()
        for _ in 0..<2 {
            writer.write(delivery, previousSeq: 40, skipped: skipped, attempt: 1, now: 1_614_265_330_999, into: &head)
        }
        return WrittenRequest(head)
    }
}
