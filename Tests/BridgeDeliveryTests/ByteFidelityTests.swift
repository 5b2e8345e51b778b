import BridgeModel
import BridgeTestSupport
import RoomsHTTP
import RoomsRuntime
import RoomsWire
import Testing

@testable import BridgeDelivery

/// Whatever was published stands in the request as it was, in every format.
@Suite struct ByteFidelityTests {
    private static let key = Secret((0..<32).map { UInt8($0) })

    @Test("10,000 of 100,000 payloads come out as they went in, and are signed", arguments: 1...10)
    func everyFormat(seed: UInt64) throws {
        var payloads = PayloadGenerator(seed: seed)
        let writers = try DeliveryFormat.allCases.map { format in
            let head = try RequestHead(method: "POST", target: "/hook", host: "localhost")
            return (
                format,
                RequestWriter(beginning: head, storeID: "k9", keys: [SigningKey(.symmetric, Self.key)], format: format)
            )
        }
        let authenticator = MessageAuthenticator(key: Self.key)
        var request = RequestHead()
        var shapes: [Int] = [0, 0, 0]
        for number in 0..<(Sanitizer.isLoaded ? 1_000 : 10_000) {
            let payload = payloads.next()
            let event = Self.event(payload)
            switch event.shape {
            case .json: shapes[0] += 1
            case .sealed: shapes[1] += 1
            case .binary: shapes[2] += 1
            }
            for (format, writer) in writers {
                writer.write(Sample.delivery(.event(event)), previousSeq: 40, attempt: 1, now: 1_000, into: &request)
                let written = WrittenRequest(request)
                guard written.isIntact(authenticator, id: Self.id, timestamp: 1),
                    Self.expected(event, payload, format) == written.body
                else {
                    Issue.record("seed \(seed), payload \(number), \(format): \(payload) became \(written.text)")
                    return
                }
            }
        }
        #expect(shapes.allSatisfy { $0 > 10 }, "JSON, sealed, other: \(shapes)")
    }

    private static func event(_ payload: [UInt8]) -> EventRecord {
        let envelope = payload.withUnsafeBytes { EventEnvelope.read(payload: $0, tagEvent: nil, tagAt: nil) }
        let shape: PayloadShape =
            switch envelope.content {
            case .json(let range): .json(range)
            case .sealed(let range): .sealed(range)
            case .binary: .binary
            }
        return EventRecord(
            payload: Payload(payload),
            epoch: "xyz",
            offset: 18,
            incarnation: 0,
            shape: shape,
            name: "updated",
            from: nil,
            at: 0,
            isReplayed: false,
            tags: nil
        )
    }

    /// Put together apart from the product's writers.
    private static func expected(_ event: EventRecord, _ payload: [UInt8], _ format: DeliveryFormat) -> [UInt8] {
        let base64 = "\"" + String(decoding: Base64.encode(payload), as: UTF8.self) + "\""
        let (key, type, data): (String, String, [UInt8]) =
            switch event.shape {
            case .json(let range): ("data", "application/json", Array(payload[range]))
            case .sealed(let range): ("sealed", sealedType(payload[range]), Array(payload[range]))
            case .binary: ("data_base64", "application/octet-stream", Array(base64.utf8))
            }
        switch format {
        case .raw:
            return payload
        case .cloudEventsBinary:
            if key == "data_base64" { return payload }
            return type == "application/jose" ? Array(data.dropFirst().dropLast()) : data
        case .cloudEvents:
            let start =
                #"{"specversion":"1.0","id":"\#(id)","source":"/roombridge/main/order:1042","type":"room.event","#
            let middle =
                #""subject":"order:1042","time":"1970-01-01T00:00:00.000Z","sequence":"00000000000000000041","#
                + #""partitionkey":"order:1042","roomevent":"updated","roomepoch":"xyz","roomoffset":"18","#
            let end = #""roomprevseq":"40","datacontenttype":"\#(type)","\#(key == "sealed" ? "data" : key)":"#
            return Array((start + middle + end).utf8) + data + Array("}".utf8)
        case .standard, .ndjson:
            let start =
                #"{"id":"\#(id)","type":"room.event","timestamp":"1970-01-01T00:00:00.000Z","data":{"#
                + #""room":"order:1042","event":"updated","\#(key)":"#
            let end =
                #","meta":{"id":"xyz:18","epoch":"xyz","offset":18,"seq":41,"prev_seq":40,"from":null,"at":0,"#
                + #""replayed":false,"tags":{}}}}"#
            let line = data.filter { format == .standard || ($0 != 0x0a && $0 != 0x0d) }
            return Array(start.utf8) + line + Array((end + (format == .ndjson ? "\n" : "")).utf8)
        }
    }

    private static let id = "rb_k37rpn2nfcdpmmqplswj7znfinizvtkj"

    private static func sealedType(_ value: ArraySlice<UInt8>) -> String {
        String(decoding: value, as: UTF8.self) == #""e30.x-_.y..z""# ? "application/jose" : "application/jose+json"
    }
}
