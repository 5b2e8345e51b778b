internal import BridgeTestSupport
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// From a publisher's `cent` to two real receivers, byte for byte, through everything a server may do in between.
    @Suite(.timeLimit(.minutes(2))) struct DeliveryTests {
        enum Kind: String, CaseIterable, Sendable {
            case hub
            case centrifugo
            case redis
        }

        static let room = "order:1042"

        @Test("C53: every payload reaches both receivers byte for byte, in order, signed", arguments: Kind.allCases)
        func payloads(_ kind: Kind) async throws {
            guard let line = try await DeliveryLine(kind) else { return }
            let answers = try await line.publish(SamplePayload.all)
            try await line.expectAll(answers.count)
            for (reception, name) in line.receptions() {
                #expect(reception.count == answers.count, "\(name)")
                for (index, (got, sent)) in zip(reception, answers).enumerated() {
                    let payload = SamplePayload.all[index]
                    expect(got, carries: payload, sent, seq: index + 1, "\(name): \(payload)")
                }
            }
            #expect(line.python.entries.allSatisfy { $0.isVerified })
            try await line.close()
        }

        @Test(arguments: Kind.allCases)
        func `a killed and restarted server costs nothing that it still has`(_ kind: Kind) async throws {
            guard let line = try await DeliveryLine(kind) else { return }
            let before = try await line.publish([.all[0]])
            try await line.expectAll(1)
            try await line.server.kill()
            try await line.server.start()
            let after = try await line.publish([.all[1], .all[4]])
            if line.server.keepsStreams {
                try await line.expectAll(3)
                #expect(after.map(\.epoch) == [before[0].epoch, before[0].epoch])
                #expect(line.receptions().allSatisfy { $0.0.allSatisfy { $0.type == "room.event" } })
            } else {
                try await line.expectAll(4)
                expectNewStream(line, lastOffset: before[0].offset, old: before[0].epoch, new: after[0].epoch)
            }
            try await line.close()
        }

        @Test func `Redis emptied while joined is told as a gap, and what follows arrives from the first event on`()
            async throws
        {
            guard let line = try await DeliveryLine(.redis), let redis = line.redis else { return }
            let before = try await line.publish([.all[0], .all[1]])
            try await line.expectAll(2)
            try await redis.flush()
            let after = try await line.publish([.all[4], .all[6]])
            #expect(after.map(\.offset) == [1, 2])
            try await line.expectAll(5)
            expectNewStream(line, lastOffset: before[1].offset, old: before[1].epoch, new: after[0].epoch)
            try await line.close()
        }

        /// The events of the old stream, one gap that ends it, then the new stream from its first event on.
        private func expectNewStream(_ line: DeliveryLine, lastOffset: UInt64, old: String, new: String) {
            for (requests, name) in line.receptions() {
                let gap = requests[Int(lastOffset)]
                #expect(gap.type == "room.gap", "\(name)")
                #expect(gap.data?["gap"]?["reason"]?.string == "epoch_changed", "\(name)")
                #expect(gap.data?["gap"]?["from"]?.unsigned == lastOffset + 1, "\(name)")
                #expect(gap.data?["gap"]?["to"] == nil, "\(name)")
                #expect(gap.data?["gap"]?["epoch"]?.string == ByteString(old), "\(name)")
                let rest = requests.dropFirst(Int(lastOffset) + 1)
                #expect(rest.map { $0["roombridge-offset"] } == (1...rest.count).map { "\($0)" }, "\(name)")
                #expect(rest.allSatisfy { $0["roombridge-epoch"] == new }, "\(name)")
                #expect(requests.map { $0["roombridge-seq"] } == (1...requests.count).map { "\($0)" }, "\(name)")
            }
        }

        private func expect(
            _ request: DeliveredRequest,
            carries payload: SamplePayload,
            _ sent: (offset: UInt64, epoch: String, sent: [UInt8]),
            seq: Int,
            _ what: Comment
        ) {
            #expect(request["content-type"] == "application/json", what)
            #expect(request["roombridge-type"] == "room.event", what)
            #expect(request["roombridge-room"] == "order:1042", what)
            #expect(request["roombridge-event"] == payload.event, what)
            #expect(request["roombridge-epoch"] == sent.epoch, what)
            #expect(request["roombridge-offset"] == "\(sent.offset)", what)
            #expect(request["roombridge-seq"] == "\(seq)", what)
            #expect(request["roombridge-prev-seq"] == "\(seq - 1)", what)
            #expect(request["webhook-id"] == request.expectedID, what)
            let expected = payload.expected(sent.sent)
            let data = request.data
            #expect(data?["room"]?.string == "order:1042", what)
            #expect(data?["event"]?.string == ByteString(payload.event), what)
            let (present, absent) = payload.isJSON ? ("data", "data_base64") : ("data_base64", "data")
            #expect(data?[present] != nil && data?[absent] == nil, what)
            #expect(data.flatMap { EventData.bytes(in: $0) } == expected, what)
            #expect(data?["meta"]?["id"]?.string == ByteString("\(sent.epoch):\(sent.offset)"), what)
            #expect(data?["meta"]?["seq"]?.unsigned == UInt64(seq), what)
            #expect(data?["meta"]?["replayed"]?.raw == Array("false".utf8), what)
        }
    }
}

/// What a receiver got, whichever it was.
struct DeliveredRequest: Sendable {
    var headers: [String: String]
    var body: [UInt8]

    subscript(name: String) -> String? { headers[name] }

    var type: String { headers["roombridge-type"] ?? "" }
    var data: JSONSlice? { JSONSlice(body)["data"] }

    /// The id that the documentation derives from the position, for the server `main`.
    var expectedID: String {
        let parts = ["main", self["roombridge-room"], self["roombridge-epoch"], self["roombridge-offset"]]
        let text = parts.map { Array(($0 ?? "").utf8) }.joined(separator: [0])
        return "rb_" + String(decoding: Base32.encode(Digest.sha256([Array(text)]).prefix(20)), as: UTF8.self)
    }
}

/// One server, one bridge, and both receivers: Python on TCP, and nginx on a Unix socket that passes on to a recorder.
final class DeliveryLine {
    let server: any RealtimeServer
    let redis: RedisProcess?
    let python: PythonReceiver
    private let recorder: RecordingReceiver
    private let nginx: NginxProcess
    private let bridge: BridgeProcess

    /// Nil when a program it needs is not installed and nobody insists on it.
    init?(_ kind: EndToEnd.DeliveryTests.Kind) async throws {
        switch kind {
        case .hub:
            redis = nil
            server = try HubProcess()
        case .centrifugo:
            redis = nil
            guard let real = try CentrifugoProcess() else { return nil }
            server = real
        case .redis:
            guard let redis = try RedisProcess(), let real = try CentrifugoProcess(redis: redis) else { return nil }
            try await redis.start()
            self.redis = redis
            server = real
        }
        recorder = try RecordingReceiver()
        guard let (nginx, address) = try await NginxProcess.relay(to: recorder) else { return nil }
        self.nginx = nginx
        python = try await PythonReceiver()
        try await server.start()
        var setup = BridgeSetup(url: server.webSocketURL)
        setup.add(endpoint: "python", for: python.address, rooms: [EndToEnd.DeliveryTests.room])
        setup.add(endpoint: "nginx", for: address, rooms: [EndToEnd.DeliveryTests.room])
        bridge = try BridgeProcess(setup)
        try await bridge.start()
        try await bridge.joined([EndToEnd.DeliveryTests.room])
    }

    func publish(_ payloads: [SamplePayload]) async throws -> [(offset: UInt64, epoch: String, sent: [UInt8])] {
        try await CentPublisher.publish(payloads.map { $0.request(room: EndToEnd.DeliveryTests.room) }, to: server)
    }

    func expectAll(_ count: Int) async throws {
        try await eventually(within: .seconds(20), "\(count) at each receiver") {
            python.entries.count >= count && recorder.count >= count
        }
    }

    func receptions() -> [([DeliveredRequest], String)] {
        [
            (python.entries.map { DeliveredRequest(headers: $0.headers, body: $0.body) }, "Python"),
            (recorder.requests.map { DeliveredRequest(headers: $0.message.headers, body: $0.message.body) }, "nginx"),
        ]
    }

    var log: String { bridge.log }

    func close() async throws {
        let exit = try await bridge.terminate()
        #expect(exit == .status(0), "\(log)")
        try await nginx.stop()
        try await server.stop()
    }
}
