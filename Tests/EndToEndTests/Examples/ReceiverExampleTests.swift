internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// The receivers that people copy into their apps, behind the real bridge and under requests made by hand.
    @Suite(.timeLimit(.minutes(2))) struct ReceiverExampleTests {
        static let chat = "chat:34:42"

        // MARK: behind the bridge

        @Test(arguments: ExampleLanguage.allCases)
        func `a receiver killed in the middle keeps every message once and in order`(
            _ language: ExampleLanguage
        )
            async throws
        {
            guard let line = try await ReceiverLine(language) else { return }
            let count = 240
            for number in 0..<count { try await line.publish(#"{"channel":"chat:34:42","data":\#(number)}"#) }
            for part in 1...3 {
                try await line.bridge.eventually("\(part * 50) messages") {
                    try await line.receiver.messages(Self.chat).count >= part * 50
                }
                try await line.receiver.kill()
                try await line.receiver.start()
            }
            try await line.bridge.eventually(within: .seconds(20), "\(count) messages") {
                try await line.receiver.messages(Self.chat).count >= count
            }
            let kept = try await line.receiver.messages(Self.chat)
            #expect(kept.map { $0["data"]?["data"]?.unsigned } == (0..<count).map { UInt64($0) })
            #expect(kept.map { $0["data"]?["meta"]?["seq"]?.unsigned } == (1...count).map { UInt64($0) })
            try await line.close()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `what a member sends, however odd, is kept byte for byte and holds up nothing`(
            _ language: ExampleLanguage
        )
            async throws
        {
            guard let line = try await ReceiverLine(language) else { return }
            let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
            let digits = String(repeating: "7", count: 5_000)
            // PHP has a limit of 8 MiB of its own.
            let large = "\"" + String(repeating: "x", count: language == .php ? 9 << 20 : 1 << 20) + "\""
            let texts = [deep, digits, large]
            for payload in SamplePayload.all { try await line.publish(payload.request(room: Self.chat)) }
            for text in texts { try await line.publish(#"{"channel":"chat:34:42","data":\#(text)}"#) }
            let total = SamplePayload.all.count + texts.count
            try await line.bridge.eventually(within: .seconds(20), "\(total) messages") {
                try await line.receiver.messages(Self.chat).count >= total
            }
            let kept = try await line.receiver.messages(Self.chat)
            #expect(kept.count == total)
            for (message, payload) in zip(kept, SamplePayload.all) {
                let data = message["data"].flatMap { EventData.bytes(in: $0) }
                let expected = payload.expected(payload.plain.map { Array($0.utf8) } ?? payload.bytes)
                #expect(data == expected, "\(payload)")
            }
            #expect(kept.suffix(texts.count).map { $0["data"]?["data"]?.raw } == texts.map { Array($0.utf8) })
            try await line.close()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `what the server lost stands in its place among the messages`(_ language: ExampleLanguage) async throws {
            guard let line = try await ReceiverLine(language) else { return }
            try await line.publish(#"{"channel":"chat:34:42","data":"before"}"#)
            try await line.bridge.eventually("the first message") {
                try await line.receiver.messages(Self.chat).count == 1
            }
            try await line.hub.kill()
            try await line.hub.start()
            try await line.publish(#"{"channel":"chat:34:42","data":"after"}"#)
            try await line.bridge.eventually("gap and message") {
                try await line.receiver.messages(Self.chat).count >= 3
            }
            let kept = try await line.receiver.messages(Self.chat)
            #expect(kept.map { $0["type"]?.string } == ["room.event", "room.gap", "room.event"])
            #expect(kept[1]["data"]?["gap"]?["reason"]?.string == "epoch_changed")
            #expect(kept.last?["data"]?["data"]?.string == "after")
            #expect(line.receiver.output.contains("MISSING EVENTS in \"chat:34:42\"") || language == .python)
            #expect(line.receiver.output.contains("MISSING EVENTS in"))
            try await line.close()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `batches, one event a line: a kill in the middle loses nothing and doubles nothing`(
            _ language: ExampleLanguage
        )
            async throws
        {
            let options = #", "format": "ndjson", "batch": { "max_events": 40 }"#
            guard let line = try await ReceiverLine(language, options: options) else { return }
            try await line.receiver.kill()
            let count = 240
            for number in 0..<count { try await line.publish(#"{"channel":"chat:34:42","data":\#(number)}"#) }
            for _ in 1...2 {
                try await line.receiver.start()
                try await line.bridge.eventually("some messages") {
                    try await line.receiver.messages(Self.chat).count > 0
                }
                try await line.receiver.kill()
            }
            try await line.receiver.start()
            try await line.bridge.eventually(within: .seconds(20), "\(count) messages") {
                try await line.receiver.messages(Self.chat).count >= count
            }
            let kept = try await line.receiver.messages(Self.chat)
            #expect(kept.map { $0["data"]?["data"]?.unsigned } == (0..<count).map { UInt64($0) })
            try await line.close()
        }

        // MARK: by hand

        @Test(arguments: ExampleLanguage.allCases)
        func `of a batch what is new is kept, and one event that cannot be read refuses all`(
            _ language: ExampleLanguage
        )
            async throws
        {
            guard let receiver = try ExampleReceiver(language) else { return }
            try await receiver.start()
            let events = (0..<5).map { SignedDelivery("rb_\($0)", number: $0) }
            #expect(try await receiver.post(events[1]) == 204)
            #expect(try await receiver.post(.batch([events[0].body, Array("no".utf8), events[2].body])) == 400)
            #expect(try await receiver.messages(Self.chat).map(\.raw) == [events[1].body])
            #expect(try await receiver.post(.batch(events[0...3].map(\.body))) == 204)
            #expect(try await receiver.post(.batch(events[2...4].map(\.body))) == 204)
            let kept = try await receiver.messages(Self.chat)
            #expect(kept.map(\.raw) == [1, 0, 2, 3, 4].map { events[$0].body })
            try await receiver.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `the same event again, at once or after a kill, is accepted and kept once`(
            _ language: ExampleLanguage
        )
            async throws
        {
            guard let receiver = try ExampleReceiver(language) else { return }
            try await receiver.start()
            let delivery = SignedDelivery("rb_same")
            let other = SignedDelivery("rb_sam", number: 1)
            #expect(try await receiver.post(delivery) == 204)
            #expect(try await receiver.post(delivery) == 204)
            #expect(try await receiver.post(other) == 204, "an id that begins alike is another")
            // Three senders at once, two of them of the same: each sends its next when it has an answer.
            let twins = (10..<20).map { SignedDelivery("rb_\($0)", number: $0) }
            let others = (20..<30).map { SignedDelivery("rb_\($0)", number: $0) }
            let address = receiver.address
            async let first = ExampleReceiver.post(twins, to: address)
            async let second = ExampleReceiver.post(twins, to: address)
            async let third = ExampleReceiver.post(others, to: address)
            #expect(try await Set(first + second + third) == [204])
            try await receiver.kill()
            try await receiver.start()
            #expect(try await receiver.post(delivery) == 204)
            #expect(try await receiver.post(SignedDelivery("rb_13", number: 13)) == 204)
            let kept = try await receiver.messages(Self.chat)
            let numbers = kept.compactMap { $0["data"]?["data"]?["number"]?.unsigned }
            #expect(numbers.sorted() == [0, 1] + Array(10..<30))
            #expect(kept.first?.raw == delivery.body)
            try await receiver.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `only what is signed, fresh and readable is taken`(_ language: ExampleLanguage) async throws {
            guard let receiver = try ExampleReceiver(language) else { return }
            try await receiver.start()
            for (index, sample) in DeliverySample.all.enumerated() {
                // PHP's own server reads a body to its end before the script has a say.
                if language == .php, sample.status == 413 { continue }
                let delivery = SignedDelivery("rb_\(index)", number: index)
                let status = try await receiver.exchange(sample.request(delivery))?.status
                #expect(status == sample.status, "\(sample.name)")
            }
            let taken = DeliverySample.all.indices.filter { DeliverySample.all[$0].status == 204 }
            let kept = try await receiver.messages(Self.chat)
            #expect(kept.map { $0["id"]?.string } == taken.map { ByteString("rb_\($0)") })
            try await receiver.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `rooms are kept apart, and only chats are shown`(_ language: ExampleLanguage) async throws {
            guard let receiver = try ExampleReceiver(language) else { return }
            try await receiver.start()
            let rooms = ["chat:34:42", "chat:34:4", "chat:grüße:%/../..", "order:1042"]
            for (index, room) in rooms.enumerated() {
                #expect(try await receiver.post(SignedDelivery("rb_\(index)", room: room, number: index)) == 204)
            }
            let paths = ["chat:34:42", "chat%3A34%3a4", "chat:gr%C3%BC%C3%9Fe:%25%2F..%2F..", "chat:1:2"]
            var numbers: [[UInt64?]] = []
            for path in paths {
                numbers.append(try await receiver.messages(path).map { $0["data"]?["data"]?["number"]?.unsigned })
            }
            #expect(numbers == [[0], [1], [2], []])
            #expect(try await receiver.get("/chats/order:1042")?.status == 404)
            #expect(try await receiver.get("/")?.status == 404)
            try await receiver.stop()
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `what does not fit on the disk is not accepted, and kept once there is room`(
            _ language: ExampleLanguage
        )
            async throws
        {
            guard let receiver = try ExampleReceiver(language) else { return }
            // A limit on the length of files stands for the full disk.
            try await receiver.start(shell: "trap '' XFSZ; ulimit -S -f 256; ")
            let deliveries = (0..<24).map { number in
                var delivery = SignedDelivery("rb_\(number)", number: number)
                delivery.body += [UInt8](repeating: UInt8(ascii: " "), count: 20_000)
                return delivery
            }
            var statuses: [Int?] = []
            for delivery in deliveries { statuses.append(try await receiver.post(delivery)) }
            let accepted = statuses.filter { $0 == 204 }.count
            #expect(accepted > 0 && accepted < deliveries.count)
            #expect(statuses.allSatisfy { $0 == 204 || $0 == 503 }, "\(statuses)")
            #expect(try await receiver.messages(Self.chat).count == accepted)
            // First while it lives, where one process is all of it; then after a start that reads what it wrote.
            if language != .php {
                try await receiver.liftLimits()
                #expect(try await receiver.post(deliveries[23]) == 204)
            }
            try await receiver.kill()
            try await receiver.start()
            #expect(try await receiver.messages(Self.chat).count == accepted + (language == .php ? 0 : 1))
            for delivery in deliveries { #expect(try await receiver.post(delivery) == 204) }
            #expect(try await receiver.messages(Self.chat).count == deliveries.count)
            try await receiver.stop()
        }

        @Test(arguments: [ExampleLanguage.node, .php])
        func `half a line, as a crash leaves it, does no harm`(_ language: ExampleLanguage) async throws {
            guard let receiver = try ExampleReceiver(language) else { return }
            try await receiver.start()
            #expect(try await receiver.post(SignedDelivery("rb_0", number: 0)) == 204)
            try await receiver.kill()
            let file = try #require(try FileManager.default.contentsOfDirectory(atPath: receiver.state.path).first)
            let path = receiver.state.file(file)
            let whole = try #require(FileManager.default.contents(atPath: path))
            let next = String(decoding: whole, as: UTF8.self).replacing("rb_0", with: "rb_1")
            try (whole + Data(next.utf8.dropLast(20))).write(to: URL(fileURLWithPath: path))
            try await receiver.start()
            #expect(try await receiver.messages(Self.chat).count == 1)
            #expect(try await receiver.post(SignedDelivery("rb_1", number: 1)) == 204)
            #expect(try await receiver.post(SignedDelivery("rb_0", number: 0)) == 204)
            let kept = try await receiver.messages(Self.chat)
            #expect(kept.map { $0["data"]?["data"]?["number"]?.unsigned } == [0, 1])
            try await receiver.stop()
        }

        @Test(
            arguments: ExampleLanguage.allCases,
            [nil, "", "whsec_", "whsec_not!base64", "\(BridgeProcess.signingSecret) whsec_*"]
        )
        func `without good secrets nothing is taken`(_ language: ExampleLanguage, _ secrets: String?) async throws {
            guard let receiver = try ExampleReceiver(language) else { return }
            if language == .php {
                try await receiver.start(secrets: secrets ?? "")
                #expect(try await receiver.post(SignedDelivery("rb_1")) == 503)
            } else {
                #expect(try await receiver.launch(port: 0, secrets: secrets).wait() == .status(1))
            }
            #expect(receiver.output.contains("whsec_BASE64"))
        }

        @Test(arguments: ExampleLanguage.allCases)
        func `port 0 is any, and it says which; "none" takes what is not signed`(
            _ language: ExampleLanguage
        )
            async throws
        {
            guard let receiver = try ExampleReceiver(language) else { return }
            let line = try await receiver.launch(port: 0, secrets: "none").line(containing: language.listening)
            let port = try #require(language.port(in: line))
            let delivery = SignedDelivery("rb_1")
            let answer = try await TestHTTP.post(
                .loopback(port: port),
                "/hook",
                String(decoding: delivery.body, as: UTF8.self),
                headers: ["webhook-id: rb_1"]
            )
            #expect(answer?.status == 204)
            try await receiver.stop()
        }
    }
}

/// A request by hand and the answer it deserves.
private struct DeliverySample: Sendable {
    var name: String
    var status: Int
    var request: @Sendable (SignedDelivery) -> [UInt8]

    private static func sample(
        _ name: String,
        _ status: Int,
        _ change: @escaping @Sendable (inout SignedDelivery) -> Void
    ) -> Self {
        Self(name: name, status: status) { delivery in
            var delivery = delivery
            change(&delivery)
            return TestHTTP.request("/hook", delivery.body, headers: delivery.headers)
        }
    }

    private static func signature(
        _ name: String,
        _ status: Int,
        _ signature: @escaping @Sendable (SignedDelivery) -> String
    ) -> Self {
        Self(name: name, status: status) { delivery in
            TestHTTP.request("/hook", delivery.body, headers: delivery.headers(signature: signature(delivery)))
        }
    }

    static let all = [
        sample("signed with the first secret", 204) { _ in },
        sample("signed with the second secret", 204) { $0.secrets = [ExampleReceiver.secrets[1]] },
        sample("signed with both", 204) { $0.secrets = ExampleReceiver.secrets },
        sample("signed with an unknown and a known secret", 204) {
            $0.secrets = ["whsec_dW5rbm93biBzZWNyZXQgb2Ygbm9ib2R5IGF0IGFsbA==", ExampleReceiver.secrets[1]]
        },
        sample("four minutes old", 204) { $0.age = 240 },
        sample("four minutes ahead", 204) { $0.age = -240 },
        signature("beside a signature of another kind", 204) { "v1a,AAAA v2,xyz \($0.signatures[0])" },
        sample("six minutes old", 401) { $0.age = 360 },
        sample("six minutes ahead", 401) { $0.age = -360 },
        sample("signed with a secret of somebody else", 401) {
            $0.secrets = ["whsec_dW5rbm93biBzZWNyZXQgb2Ygbm9ib2R5IGF0IGFsbA=="]
        },
        signature("no version", 401) { String($0.signatures[0].dropFirst(3)) },
        signature("another version", 401) { "v2," + $0.signatures[0].dropFirst(3) },
        signature("an empty signature", 401) { _ in "v1," },
        signature("nothing", 401) { _ in "" },
        signature("a signature cut short", 401) { String($0.signatures[0].dropLast(8)) },
        Self(name: "a changed body", status: 401) { delivery in
            TestHTTP.request("/hook", delivery.body + [0x20], headers: delivery.headers)
        },
        Self(name: "another id", status: 401) { delivery in
            let headers = delivery.headers.map { $0.hasPrefix("webhook-id") ? "webhook-id: rb_other" : $0 }
            return TestHTTP.request("/hook", delivery.body, headers: headers)
        },
        Self(name: "another time", status: 401) { delivery in
            let time = "webhook-timestamp: \(delivery.timestamp - 1)"
            let headers = delivery.headers.map { $0.hasPrefix("webhook-timestamp") ? time : $0 }
            return TestHTTP.request("/hook", delivery.body, headers: headers)
        },
        Self(name: "a time that is none", status: 401) { delivery in
            let headers = delivery.headers.map { $0.hasPrefix("webhook-timestamp") ? "webhook-timestamp: soon" : $0 }
            return TestHTTP.request("/hook", delivery.body, headers: headers)
        },
        Self(name: "no headers", status: 401) { delivery in
            TestHTTP.request("/hook", delivery.body, headers: ["connection: close"])
        },
        sample("signed, but not JSON", 400) { $0.body.removeLast() },
        sample("signed, but of no room", 400) { $0.body = Array(#"{"type":"room.event","data":{"room":7}}"#.utf8) },
        sample("signed, but no object", 400) { $0.body = Array("[1]".utf8) },
        Self(name: "33 MiB announced", status: 413) { delivery in
            let head = TestHTTP.request("/hook", [], headers: delivery.headers)
            return Array(String(decoding: head, as: UTF8.self).replacing("length: 0", with: "length: 34603008").utf8)
        },
    ]
}
