import RoomsRuntime
import Testing

@testable import BridgeCore
@testable import BridgeDelivery

@Suite struct RequestVerifierTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let other = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
    private static let pair =
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
    private static let publicKey = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="
    private static let right = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    private static let rightPair =
        "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
    private static let sent = 1_614_265_330
    private static let body = #"{"test": 2432232314}"#

    /// The vector of Standard Webhooks, with what a test changes in it.
    private func request(
        id: String? = "msg_p5jXN8AQM9LWM0D4loKWxJek",
        time: String? = "\(sent)",
        signature: String? = right,
        more: [String] = [],
        body: String = body
    ) throws -> CapturedRequest {
        let fields = [("Webhook-Id", id), ("webhook-timestamp", time), ("webhook-signature", signature)]
        let lines = fields.compactMap { name, value in value.map { "\(name): \($0)" } } + more
        let text = "POST /hook HTTP/1.1\r\n" + lines.map { "\($0)\r\n" }.joined() + "\r\n" + body
        return try #require(CapturedRequest(Array(text.utf8)))
    }

    private func verify(
        _ request: CapturedRequest,
        with secrets: [String] = [secret],
        after seconds: Int = 12
    ) throws -> RequestVerifier.Result {
        let keys = try secrets.enumerated().map { index, text throws(CommandError) in
            try RequestVerifier.Key(Secret(text), name: "key \(index + 1)")
        }
        return RequestVerifier(keys: keys, received: Int64(Self.sent + seconds) * 1_000).verify(request)
    }

    @Test("a right request is told by which key, and how old it was")
    func right() throws {
        let good = RequestVerifier.Result.good("signed right (v1, key 1), 12.0s before it was received")
        #expect(try verify(request()) == good)
        let list = "v2,AAAA v1,AAAA \(Self.rightPair) v1a,AAAA \(Self.right) garbage"
        #expect(try verify(request(signature: list)) == good)
        let bySecond = RequestVerifier.Result.good("signed right (v1, key 2), 12.0s before it was received")
        #expect(try verify(request(), with: [Self.other, Self.secret]) == bySecond)
        for key in [Self.pair, Self.publicKey] {
            let byPair = RequestVerifier.Result.good("signed right (v1a, key 1), 12.0s before it was received")
            #expect(try verify(request(signature: list), with: [key]) == byPair)
        }
    }

    @Test("each header that is missing is named", arguments: 0..<3)
    func missing(_ which: Int) throws {
        let name = ["webhook-id", "webhook-timestamp", "webhook-signature"][which]
        let request = try request(
            id: which == 0 ? nil : "msg_p5jXN8AQM9LWM0D4loKWxJek",
            time: which == 1 ? nil : "\(Self.sent)",
            signature: which == 2 ? nil : Self.right
        )
        #expect(try verify(request) == .bad(["the header \(name) is missing"]))
    }

    @Test("five minutes either way are allowed, a second more is not")
    func time() throws {
        for age in [-300, 300] {
            guard case .good = try verify(request(), after: age) else {
                Issue.record("refused at an age of \(age) s")
                continue
            }
        }
        #expect(
            try verify(request(), after: 301)
                == .bad([
                    "too old: made 5m1s before it was received, receivers allow 5m0s "
                        + "(--received says when a kept one came)",
                    "the signature itself is right (v1, key 1)",
                ])
        )
        #expect(
            try verify(request(), after: -301)
                == .bad([
                    "from the future: made 5m1s after it was received, receivers allow 5m0s: a clock is wrong",
                    "the signature itself is right (v1, key 1)",
                ])
        )
    }

    @Test("a time that is none is said", arguments: ["soon", "-5", "1614265330.5", "99999999999999999999"])
    func badTime(_ time: String) throws {
        guard case .bad(let problems) = try verify(request(time: time)) else {
            Issue.record("accepted")
            return
        }
        #expect(problems.first == "webhook-timestamp is \"\(time)\", must be seconds since 1970")
    }

    @Test("another secret, and one of the other kind, are a wrong key")
    func wrongKey() throws {
        guard case .bad(let problems) = try verify(request(), with: [Self.other]) else {
            Issue.record("accepted")
            return
        }
        #expect(problems.count == 1 && problems[0].hasPrefix("wrong key: "), "\(problems)")
        #expect(
            try verify(request(), with: [Self.publicKey])
                == .bad(["wrong key: the request is signed with v1, the key given is for v1a"])
        )
        for none in ["v1,", "v1", "v2,AAAA", ","] {
            #expect(
                try verify(request(signature: none))
                    == .bad(["webhook-signature holds no v1 or v1a signature, must be such as \"v1,BASE64\""])
            )
        }
    }

    @Test(
        "what was done to the body is found out",
        arguments: [
            (body + "\n", "a line end was added at its end; what was signed has 20 bytes, this one 21 (v1, key 1)"),
            (body + "\r\n", "a line end was added at its end; what was signed has 20 bytes, this one 22 (v1, key 1)"),
            (
                "\u{feff}" + body,
                "a byte order mark was put before it; what was signed has 20 bytes, this one 23 (v1, key 1)"
            ),
            (#"{"test": 2432232315}x"#, "content-length says 20 bytes, there are 21"),
            (
                #"{"id":"rb_other"}..."#,
                "it is that of another event (rb_other), webhook-id says msg_p5jXN8AQM9LWM0D4loKWxJek"
            ),
        ]
    )
    func changedBody(_ body: String, _ story: String) throws {
        let request = try request(more: ["content-length: 20"], body: body)
        #expect(try verify(request) == .bad(["body changed: " + story]))
    }

    @Test(
        "white space, line ends and a lost line end are found out, too",
        arguments: [
            (
                #"{"a":"b \" c","d":[1,2]}"#, "{\n  \"a\": \"b \\\" c\",\n  \"d\": [1, 2]\n}",
                "the JSON was written anew"
            ),
            ("{\"a\":1,\n\"b\":2}\n", "{\"a\":1,\r\n\"b\":2}\r\n", "LF became CR LF"),
            ("{}\n", "{}", "the line end at its end is gone"),
        ]
    )
    func rewrittenBody(_ signed: String, _ found: String, _ story: String) throws {
        var signature: [UInt8] = []
        Signature(keys: [try SigningSecret.decode(Secret(Self.secret))])
            .write(id: Array("a".utf8), timestamp: Int64(Self.sent), body: Array(signed.utf8), into: &signature)
        let text = String(decoding: signature, as: UTF8.self)
        guard case .good = try verify(request(id: "a", signature: text, body: signed)) else {
            Issue.record("the right body is refused")
            return
        }
        guard case .bad(let problems) = try verify(request(id: "a", signature: text, body: found)) else {
            Issue.record("accepted")
            return
        }
        #expect(problems.count == 1 && problems[0].hasPrefix("body changed: \(story)"), "\(problems)")
    }

    @Test("headers are read with either line end, with or without a request line, in one piece or in two")
    func captured() throws {
        let lines = "webhook-id:  a \nX-Other:\nwebhook-id: b\n"
        for text in [lines, "POST / HTTP/1.1\n" + lines] {
            let whole = try #require(CapturedRequest(Array((text + "\n\n{}").utf8)))
            #expect(whole["webhook-id"] == "a" && whole.count(of: "webhook-id") == 2 && whole["x-other"] == nil)
            #expect(whole.body == Array("\n{}".utf8))
            let two = try #require(CapturedRequest(headers: Array(text.utf8), body: [0]))
            #expect(two["webhook-id"] == "a" && two.body == [0])
        }
        for text in ["", "\n\n{}", "{\"a\": 1}\n", ": x\n", "no colon\n\n"] {
            #expect(CapturedRequest(Array(text.utf8)) == nil, "\(text)")
        }
    }
}
