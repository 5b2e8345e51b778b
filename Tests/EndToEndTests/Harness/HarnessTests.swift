internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

/// The pieces of the harness, each against something real, before anything is judged with them.
@Suite(.timeLimit(.minutes(1))) struct HarnessTests {
    @Test func `the receiver records, holds, fails and refuses as told`() async throws {
        let receiver = try RecordingReceiver()
        let answer = try await TestHTTP.post(receiver.address, "/hook", #"{"n":1}"#, headers: ["webhook-id: a"])
        #expect(answer?.status == 200)
        #expect(receiver.requests.map(\.message.body) == [Array(#"{"n":1}"#.utf8)])
        #expect(receiver.acceptedCount == 1)

        receiver.behave(.answer(503))
        #expect(try await TestHTTP.post(receiver.address, "/hook", "{}")?.status == 503)
        receiver.behave(.hangUp)
        #expect(try await TestHTTP.post(receiver.address, "/hook", "{}") == nil)

        receiver.behave(.answer(200))
        receiver.holdNext(1)
        async let held = TestHTTP.post(receiver.address, "/hook", "{}")
        try await eventually("a held request") { receiver.heldCount == 1 }
        #expect(receiver.requests.last?.answered == nil)
        receiver.release()
        #expect(try await held?.status == 200)

        receiver.refuse()
        try await eventually("the refusal") { try await TestHTTP.post(receiver.address, "/hook", "{}") == nil }
        receiver.listen()
        try await eventually("the return") { try await TestHTTP.post(receiver.address, "/hook", "{}")?.status == 200 }
    }

    @Test func `a slice of JSON is the bytes that stand there`() {
        let text = #" {"a":{"b":[1, {"c":"]}"}],"d":"x\"y"},"n":12345678901234567890 ,"e":null}"#
        let document = JSONSlice(text)
        #expect(document["a"]?["b"]?.raw == Array(#"[1, {"c":"]}"}]"#.utf8))
        #expect(
            document["a"]?["b"]?.elements.map(\.raw).map { String(decoding: $0, as: UTF8.self) }
                == ["1", #"{"c":"]}"}"#]
        )
        #expect(document["n"]?.unsigned == 12_345_678_901_234_567_890)
        #expect(document["e"]?.isNull == true)
        #expect(document.verbatim("n") == Array("12345678901234567890 ".utf8))
        #expect(document["missing"] == nil)
    }

    @Test(arguments: [true, false])
    func `the publisher keeps what the server answered`(isReal: Bool) async throws {
        let real = isReal ? try CentrifugoProcess() : nil
        guard let server: any RealtimeServer = isReal ? real : try HubProcess() else { return }
        try await server.start()
        let publisher = LoadPublisher(port: server.port, rooms: ["order:1", "order:2"], seed: 1)
        publisher.release(50)
        try await publisher.finish()
        let (published, uncertain) = publisher.result
        #expect(published.count == 50)
        #expect(uncertain.isEmpty)
        for room in ["order:1", "order:2"] as [ByteString] {
            let offsets = published.filter { $0.key.room == room }.map(\.key.offset)
            #expect(offsets == Array(1...UInt64(offsets.count)))
        }
        try await server.kill()
        publisher.release(5)
        try await eventually("publications without an answer") { publisher.result.uncertain.count > 2 }
        try await server.start()
        try await publisher.finish()
        try await server.stop()
    }

    @Test func `cent sends what it says, and Redis forgets when told`() async throws {
        guard let redis = try RedisProcess(), let server = try CentrifugoProcess(redis: redis) else { return }
        try await redis.start()
        try await server.start()
        let requests = [#"{"channel":"order:1","data":{"n":1}}"#, #"{"channel":"order:1","b64data":"/w=="}"#]
        let answers = try await CentPublisher.publish(requests, to: server)
        #expect(answers.map(\.offset) == [1, 2])
        #expect(answers.map(\.sent) == [Array(#"{"n": 1}"#.utf8), [0xff]])
        try await redis.flush()
        let after = try await CentPublisher.publish(requests, to: server)
        #expect(after.first?.offset == 1)
        #expect(after.first?.epoch != answers.first?.epoch)
        try await server.stop()
        try await redis.stop()
    }

    @Test func `nginx passes a Unix socket's requests on, byte for byte`() async throws {
        let receiver = try RecordingReceiver()
        guard let (nginx, address) = try await NginxProcess.relay(to: receiver) else { return }
        let body = String(repeating: "x", count: 100_000)
        #expect(try await TestHTTP.post(address, "/hook", body, headers: ["webhook-id: a"])?.status == 200)
        #expect(receiver.requests.first?.message.body == Array(body.utf8))
        #expect(receiver.requests.first?["webhook-id"] == "a")
        try await nginx.stop()
    }

    @Test func `the Python receiver refuses what is not signed right`() async throws {
        let receiver = try await PythonReceiver()
        let answer = try await TestHTTP.post(receiver.address, "/hook", "{}", headers: ["webhook-id: a"])
        #expect(answer?.status == 401)
        try await eventually("the entry") {
            receiver.entries.contains { !$0.isVerified && $0.body == Array("{}".utf8) }
        }
    }
}
