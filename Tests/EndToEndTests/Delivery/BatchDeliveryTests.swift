internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// Several events in one request, from a publisher's `cent` to real receivers.
    @Suite(.timeLimit(.minutes(1))) struct BatchDeliveryTests {
        private static let room = "order:1042"

        @Test func `batches of every format hold what was published, each event with its id, signed, in order`()
            async throws
        {
            let server = try HubProcess()
            try await server.start()
            var receivers: [String: PythonReceiver] = [:]
            var setup = BridgeSetup(url: server.webSocketURL)
            for format in ["standard", "ndjson", "cloudevents"] {
                let receiver = try await PythonReceiver()
                receivers[format] = receiver
                let batch = #"{ "max_events": 5, "linger": "50ms" }"#
                setup.add(
                    endpoint: format,
                    for: receiver.address,
                    rooms: [Self.room],
                    options: #", "format": "\#(format)", "batch": \#(batch)"#
                )
            }
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.joined([Self.room])
            let payloads = SamplePayload.all
            let sent = try await CentPublisher.publish(payloads.map { $0.request(room: Self.room) }, to: server)
            try await bridge.eventually("\(sent.count) at each receiver") {
                receivers.allSatisfy { Self.events($0.value, $0.key).count == sent.count }
            }
            for (format, receiver) in receivers {
                #expect(receiver.entries.allSatisfy { $0.isVerified && $0.error == nil }, "\(format)")
                #expect(
                    receiver.entries.allSatisfy { $0.headers["webhook-id"]?.hasPrefix("rb_b_") == true },
                    "\(format)"
                )
                #expect(receiver.entries.count < sent.count, "\(format)")
                for (index, event) in Self.events(receiver, format).enumerated() {
                    let what: Comment = "\(format): \(payloads[index])"
                    let data = payloads[index].expected(sent[index].sent) ?? []
                    let line = payloads[index].isJSON ? data.filter { $0 != 0x0a && $0 != 0x0d } : data
                    let inner = format == "cloudevents" ? event : event["data"]
                    #expect(inner.flatMap { EventData.bytes(in: $0) } == (format == "ndjson" ? line : data), what)
                    #expect(event["id"]?.string?.string.hasPrefix("rb_") == true, what)
                }
                guard format == "cloudevents" else { continue }
                let read = receiver.entries.flatMap(\.events)
                #expect(read.map { $0.attributes["roomoffset"] } == sent.map { "\($0.offset)" })
            }
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }

        @Test func `of a thousand events one is refused: 999 arrive, few requests tell which`() async throws {
            let server = try HubProcess()
            try await server.start()
            let batched = try RecordingReceiver()
            let single = try RecordingReceiver()
            var setup = BridgeSetup(server, receiver: single, rooms: [Self.room])
            setup.add(
                endpoint: "batched",
                for: batched.address,
                rooms: [Self.room],
                options: #", "batch": { "max_events": 1000 }"#
            )
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.joined([Self.room])
            batched.behave(.refuseText(#""n": 700}"#, 400))
            batched.holdNext(1)
            let requests = (0...1_000).map { #"{"channel":"\#(Self.room)","data":{"n":\#($0)}}"# }
            _ = try await CentPublisher.publish(requests, to: server)
            try await bridge.eventually(within: .seconds(30), "all at the other endpoint") {
                single.acceptedCount == 1_001
            }
            batched.release()
            try await bridge.eventually(within: .seconds(30), "the last event") {
                batched.requests.last?["roombridge-seq"]?.hasSuffix("-1001") == true
                    && batched.requests.last?.status == 200
            }
            let own = batched.requests.count { $0["roombridge-seq"] == "701-701" }
            // The first event alone, and one request for the rest, would be all.
            #expect(batched.count - own - 2 <= 11 && own == 3)
            let arrived = batched.requests.filter { $0.status == 200 }.flatMap { JSONSlice($0.message.body).elements }
            let seqs = arrived.compactMap { $0["data"]?["meta"]?["seq"]?.unsigned }
            #expect(seqs == (1...1_001).filter { $0 != 701 })
            #expect(batched.requests.last?["roombridge-skipped"] == "1")
            #expect(bridge.log.split(separator: "\n").count { $0.contains("dead letters") } == 1)
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }

        @Test func `nginx takes four kilobytes at a time: batches are halved until they fit, and nothing is given up`()
            async throws
        {
            let receiver = try RecordingReceiver()
            guard let (nginx, address) = try await NginxProcess.relay(to: receiver, "client_max_body_size 4k;") else {
                return
            }
            let server = try HubProcess()
            try await server.start()
            var setup = BridgeSetup(url: server.webSocketURL)
            setup.add(
                endpoint: "app",
                for: address,
                rooms: [Self.room],
                options: #", "batch": { "max_events": 1000 }"#
            )
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.joined([Self.room])
            receiver.holdNext(1)
            let requests = (0..<500).map { #"{"channel":"\#(Self.room)","data":{"n":\#($0)}}"# }
            _ = try await CentPublisher.publish(requests, to: server)
            try await bridge.eventually("the first request") { receiver.heldCount == 1 }
            receiver.release()
            try await bridge.eventually(within: .seconds(20), "all events") {
                Self.seqs(receiver, Self.room).last == 500
            }
            #expect(Self.seqs(receiver, Self.room) == Array(1...500))
            #expect(receiver.requests.contains { $0.message.body.count > 2_000 })
            #expect(receiver.requests.allSatisfy { $0.message.body.count <= 4_096 })
            #expect(!bridge.log.contains("dead letters"), "\(bridge.log)")
            #expect(try await bridge.terminate() == .status(0))
            try await nginx.stop()
            try await server.stop()
        }

        @Test func `killed with batches in flight it loses nothing, and what comes again changes no order`()
            async throws
        {
            let server = try HubProcess()
            try await server.start()
            let receiver = try RecordingReceiver()
            let rooms = (1...4).map { "order:\($0)" }
            var setup = BridgeSetup(url: server.webSocketURL)
            setup.add(
                endpoint: "app",
                for: receiver.address,
                rooms: rooms,
                options: #", "batch": { "max_events": 50, "linger": "5ms" }"#
            )
            let bridge = try BridgeProcess(setup)
            try await bridge.start()
            try await bridge.joined(rooms)
            for kill in 1...8 {
                receiver.holdNext(1 + kill % 4)
                let requests = (0..<200).map { #"{"channel":"\#(rooms[$0 % 4])","data":\#($0)}"# }
                _ = try await CentPublisher.publish(requests, to: server)
                try await bridge.eventually("batches in flight") { receiver.heldCount == 1 + kill % 4 }
                _ = try await bridge.kill()
                receiver.release()
                try await bridge.start()
            }
            for room in rooms {
                try await bridge.eventually(within: .seconds(20), "all of \(room)") {
                    Self.seqs(receiver, room).max() == 400
                }
                var last: UInt64 = 0
                for seq in Self.seqs(receiver, room) {
                    #expect(seq <= last + 1, "\(room): \(seq) behind \(last)")
                    last = max(last, seq)
                }
            }
            #expect(receiver.requests.contains { JSONSlice($0.message.body).elements.count > 10 })
            #expect(try await bridge.terminate() == .status(0))
            try await server.stop()
        }

        /// Of the events that were accepted, in the order in which they came.
        private static func seqs(_ receiver: RecordingReceiver, _ room: String) -> [UInt64] {
            receiver.requests.filter { $0.status == 200 }
                .flatMap { JSONSlice($0.message.body).elements }
                .filter { $0["data"]?["room"]?.string == ByteString(room) }
                .compactMap { $0["data"]?["meta"]?["seq"]?.unsigned }
        }

        private static func events(_ receiver: PythonReceiver, _ format: String) -> [JSONSlice] {
            receiver.entries.flatMap { entry in
                format == "ndjson"
                    ? entry.body.split(separator: 0x0a).map { JSONSlice(Array($0)) } : JSONSlice(entry.body).elements
            }
        }
    }
}
