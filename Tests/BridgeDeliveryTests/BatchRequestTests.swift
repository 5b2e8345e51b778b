import BridgeModel
import Foundation
import RoomsHTTP
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeDelivery

@Suite struct BatchRequestTests {
    private static let key = Secret((0..<32).map { UInt8($0) })

    @Test("a batch of standard objects: one array, each with its own id, seqs that follow one another")
    func standard() throws {
        let (request, ids) = try written(.standard, within: 1 << 20)
        #expect(request["content-type"] == "application/json")
        let objects = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [[String: Any]])
        #expect(objects.map { $0["id"] as? String } == (0..<5).map { String(decoding: ids[$0], as: UTF8.self) })
        let metas = objects.compactMap { ($0["data"] as? [String: Any])?["meta"] as? [String: Any] }
        #expect(metas.map { $0["seq"] as? Int } == [41, 42, 43, 44, 45])
        #expect(metas.map { $0["prev_seq"] as? Int } == [38, 41, 42, 43, 44])
        #expect(metas.map { $0["skipped"] as? Int } == [2, nil, nil, nil, nil])
        #expect(
            objects.map { $0["type"] as? String } == [
                "room.event", "room.event", "room.gap", "room.event", "room.event",
            ]
        )
        let fields = request.fields.filter { $0.key.hasPrefix("roombridge-") }
        #expect(
            fields == [
                "roombridge-type": "room.batch", "roombridge-room": "order:1042", "roombridge-seq": "41-45",
                "roombridge-prev-seq": "38", "roombridge-skipped": "2", "roombridge-attempt": "3",
            ]
        )
        let id = try #require(request["webhook-id"])
        #expect(id.hasPrefix("rb_b_") && id.utf8.count == 37)
        #expect(request.isIntact(MessageAuthenticator(key: Self.key), id: id, timestamp: 1))
    }

    @Test("one line each, one event each")
    func lines() throws {
        let (request, _) = try written(.ndjson, within: 1 << 20)
        #expect(request["content-type"] == "application/x-ndjson" && request.text.hasSuffix("}\n"))
        let lines = request.text.split(separator: "\n")
        #expect(lines.count == 5 && lines[0].contains(#""data":{"a": 1},"#))
        for line in lines { _ = try JSONSerialization.jsonObject(with: Data(line.utf8)) }
    }

    @Test("a batch of CloudEvents")
    func cloudEvents() throws {
        let (request, ids) = try written(.cloudEvents, within: 1 << 20)
        #expect(request["content-type"] == "application/cloudevents-batch+json; charset=UTF-8")
        let objects = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [[String: Any]])
        #expect(objects.map { $0["id"] as? String } == (0..<5).map { String(decoding: ids[$0], as: UTF8.self) })
        #expect(objects.allSatisfy { $0["specversion"] as? String == "1.0" })
    }

    @Test("no more bytes than allowed, but one event", arguments: [DeliveryFormat.standard, .ndjson, .cloudEvents])
    func limit(format: DeliveryFormat) throws {
        let (whole, _) = try written(format, within: 1 << 20)
        var sizes: Set<Int> = []
        for limit in stride(from: 1, through: whole.body.count + 10, by: 7) {
            let (request, ids) = try written(format, within: limit)
            #expect(request.body.count <= limit || ids.count == 1)
            #expect(request["roombridge-seq"] == "41-\(40 + ids.count)")
            sizes.insert(ids.count)
        }
        #expect(sizes == [1, 2, 3, 4, 5])
    }

    @Test("the id is the same for the same events, and another one for others")
    func batchID() throws {
        let all = try written(.standard, within: 1 << 20).0["webhook-id"]
        #expect(try written(.cloudEvents, within: 1 << 20).0["webhook-id"] == all)
        #expect(try written(.standard, within: 1_000).0["webhook-id"] != all)
    }

    private func written(_ format: DeliveryFormat, within limit: Int) throws -> (WrittenRequest, BatchIDs) {
        var settings = EndpointSettings(
            id: Sample.endpoint,
            name: "orders",
            target: StreamTarget(host: "127.0.0.1", port: 1),
            path: "/hook",
            host: "localhost"
        )
        settings.format = format
        settings.batch = BatchLimits(maxEvents: 10)
        let beginning = try settings.requestBeginning()
        let writer = RequestWriter(
            beginning: beginning,
            storeID: "k9",
            keys: [SigningKey(.symmetric, Self.key)],
            format: format
        )
        let run = (0..<5).map { index -> PendingDelivery in
            let body: RecordBody =
                index == 2
                ? .gap(Gap(reason: .trimmed, epoch: "xyz", from: 20, to: 21), at: 0)
                : .event(Sample.event("{\"a\":\n 1}", offset: 18 + UInt64(index)))
            return Sample.delivery(row: Int64(index), seq: Int64(41 + index), body)
        }
        var ids = BatchIDs()
        var head = RequestHead()
        for _ in 0..<2 {
            writer.write(
                run,
                within: limit,
                previousSeq: 38,
                skipped: 2,
                attempt: 3,
                now: 1_999,
                ids: &ids,
                into: &head
            )
        }
        return (WrittenRequest(head), ids)
    }
}
