internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// What was published arrives in every format as it was, judged by PyPI's `standardwebhooks` and `cloudevents`.
    @Suite(.timeLimit(.minutes(1))) struct FormatTests {
        static let room = "order:50% off"
        private static let formats = ["standard", "ndjson", "cloudevents", "cloudevents-binary", "raw"]

        @Test func `every payload in every format, byte for byte, signed, in order`() async throws {
            let server = try HubProcess()
            try await server.start()
            var receivers: [String: PythonReceiver] = [:]
            var setup = BridgeSetup(url: server.webSocketURL)
            for format in Self.formats {
                let receiver = try await PythonReceiver()
                receivers[format] = receiver
                setup.add(
                    endpoint: format,
                    for: receiver.address,
                    rooms: [Self.room],
                    options: #", "format": "\#(format)""#
                )
            }
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.joined([Self.room])
            let payloads = SamplePayload.all
            let sent = try await CentPublisher.publish(payloads.map { $0.request(room: Self.room) }, to: server)
            try await bridge.eventually("\(sent.count) at each receiver") {
                receivers.values.allSatisfy { $0.entries.count == sent.count }
            }
            for (format, receiver) in receivers {
                for (index, entry) in receiver.entries.enumerated() {
                    let what: Comment = "\(format): \(payloads[index])"
                    #expect(entry.isVerified && entry.error == nil, "\(entry.error ?? "") \(what)")
                    #expect(entry.headers["roombridge-room"] == "order:50%25%20off", what)
                    expect(entry, carries: payloads[index], sent[index].sent, as: format, what)
                    guard format.hasPrefix("cloudevents") else { continue }
                    expect(entry, seq: index + 1, sent[index], what)
                    #expect(entry.events.first?.bytes == (payloads[index].isJSON ? nil : sent[index].sent), what)
                }
            }
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }

        private func expect(
            _ entry: PythonReceiver.Entry,
            carries payload: SamplePayload,
            _ sent: [UInt8],
            as format: String,
            _ what: Comment
        ) {
            let data = payload.expected(sent) ?? []
            let body = JSONSlice(entry.body)
            let type = payload.isJSON ? "application/json" : "application/octet-stream"
            switch format {
            case "raw":
                #expect(entry.body == sent && entry.headers["content-type"] == type, what)
            case "cloudevents-binary":
                #expect(entry.body == data && entry.headers["content-type"] == type, what)
            case "cloudevents":
                #expect(EventData.bytes(in: body) == data, what)
                #expect(body["datacontenttype"]?.string == ByteString(type), what)
            case "ndjson":
                #expect(entry.body.last == 0x0a && entry.body.count { $0 == 0x0a } == 1, what)
                let line = payload.isJSON ? data.filter { $0 != 0x0a && $0 != 0x0d } : data
                #expect(body["data"].flatMap { EventData.bytes(in: $0) } == line, what)
            default:
                #expect(body["data"].flatMap { EventData.bytes(in: $0) } == data, what)
            }
        }

        /// What `cloudevents` says of it.
        private func expect(
            _ entry: PythonReceiver.Entry,
            seq: Int,
            _ sent: (offset: UInt64, epoch: String, sent: [UInt8]),
            _ what: Comment
        ) {
            let attributes = entry.events.first?.attributes ?? [:]
            #expect(entry.events.count == 1, what)
            #expect(attributes["id"] == entry.headers["webhook-id"], what)
            #expect(attributes["specversion"] == "1.0" && attributes["type"] == "room.event", what)
            #expect(attributes["source"] == "/roombridge/main/order:50%25%20off", what)
            #expect(attributes["subject"] == Self.room && attributes["partitionkey"] == Self.room, what)
            #expect(attributes["roomepoch"] == sent.epoch && attributes["roomoffset"] == "\(sent.offset)", what)
            #expect(attributes["sequence"] == String(repeating: "0", count: 20 - "\(seq)".count) + "\(seq)", what)
        }
    }
}
