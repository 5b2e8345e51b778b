import RoomsRuntime
import RoomsTransport
import Testing

@testable import Rooms

/// What each answer of an auth route means.
@Suite struct AuthOutcomeTests {
    private static let key = String(repeating: "A", count: 43)

    private func outcome(
        _ body: String,
        status: Int = 200,
        rooms: [ByteString] = ["a"],
        connection: Bool = false
    ) -> AuthOutcome {
        let answer = TransferAnswer(
            status: status,
            contentType: "text/html",
            retryAfter: .seconds(7),
            body: Array(body.utf8)
        )
        return AuthOutcome(.success(answer), to: AuthRequest(rooms: rooms, wantsConnection: connection), maxToken: 20)
    }

    private func room(_ value: String) -> Result<Grant, RoomError>? {
        guard case .answered(let answer) = outcome(#"{"rooms":{"a":\#(value)}}"#) else { return nil }
        return answer.rooms["a"]
    }

    @Test("The body asks for the rooms in their order, and for a connection only when one is wanted")
    func body() {
        let names: [ByteString] = ["b", "a", "\"\n", "\u{e9}"]
        #expect(
            String(decoding: AuthRequest(rooms: names, wantsConnection: true).body, as: UTF8.self)
                == #"{"rooms":["b","a","\"\n","\#u{e9}"],"connection":true}"#
        )
        #expect(AuthRequest(rooms: [], wantsConnection: false).body == Array(#"{"rooms":[]}"#.utf8))
    }

    @Test(
        "A room has a grant",
        arguments: [
            (#"{"token":"t"}"#, Grant(token: Secret("t"))),
            (#"{"token":"t","keys":{},"more":[1]}"#, Grant(token: Secret("t"))),
            (#"{"token":"t","keys":[],"error":null}"#, Grant(token: Secret("t"))),
            (#"{"token":"t","keys":null}"#, Grant(token: Secret("t"))),
            (#"{"token":"12345678901234567890"}"#, Grant(token: Secret("12345678901234567890"))),
            (
                #"{"token":"t","keys":{"k1":"\#(key)","":"\#(key)="}}"#,
                Grant(
                    token: Secret("t"),
                    keys: [
                        "k1": Secret([UInt8](repeating: 0, count: 32)), "": Secret([UInt8](repeating: 0, count: 32)),
                    ]
                )
            ),
            (#"{"token":null,"keys":{"k":"\#(key)"}}"#, Grant(keys: ["k": Secret([UInt8](repeating: 0, count: 32))])),
        ]
    )
    func grants(_ value: String, _ grant: Grant) {
        #expect(room(value) == .success(grant))
    }

    @Test(
        "A room has the code that the route gives, known or not",
        arguments: ["forbidden", "no_rule", "full", "expired", "unavailable", "suspended", "x-1.2_3"]
    )
    func codes(_ code: String) {
        guard case .failure(let error)? = room(#"{"error":"\#(code)","token":"t"}"#) else {
            Issue.record("no error")
            return
        }
        #expect(error.code.rawValue == code)
    }

    @Test(
        "What is not as it should be makes the room unavailable, says why and tells no token",
        arguments: [
            (#""hush""#, "object"), ("null", "object"), ("{}", "neither"), (#"{"token":1}"#, "not a string"),
            (#"{"token":""}"#, "empty"), (#"{"token":"hush56789012345678901"}"#, "20 bytes"),
            (#"{"error":1}"#, "no code"),
            (#"{"error":""}"#, "no code"), (#"{"error":"Hush no"}"#, "no code"),
            (#"{"error":{"code":"full"}}"#, "no code"),
            (#"{"token":"hush","keys":1}"#, "keys"), (#"{"token":"hush","keys":["a"]}"#, "keys"),
            (#"{"token":"hush","keys":{"k":1}}"#, "32 bytes"), (#"{"token":"hush","keys":{"k":"AAAA"}}"#, "32 bytes"),
            (#"{"token":"hush","keys":{"k":"\#(String(repeating: "+", count: 43))"}}"#, "32 bytes"),
        ]
    )
    func badRooms(_ value: String, _ word: String) {
        guard case .failure(let error)? = room(value) else {
            Issue.record("no error")
            return
        }
        #expect(error.code == .unavailable)
        #expect(error.message.contains(word), "\(error.message)")
        #expect(!error.message.lowercased().contains("hush"))
    }

    @Test("Rooms do not spoil one another; one that is missing is unavailable, one that nobody asked for is ignored")
    func mixed() {
        let body =
            #"{"rooms":{"b":{"error":"full"},"a":{"token":"1"},"z":{"token":"9"},"a":{"token":"2"}},"connection":"c"}"#
        guard case .answered(let answer) = outcome(body, rooms: ["a", "b", "c"]) else {
            Issue.record("not answered")
            return
        }
        #expect(answer.rooms.count == 3)
        #expect(answer.rooms["a"] == .success(Grant(token: Secret("2"))))
        #expect(answer.rooms["b"]?.code == .full)
        #expect(answer.rooms["c"]?.code == .unavailable)
        #expect(answer.connection == nil)
    }

    @Test(
        "A connection has a token, or none",
        arguments: [
            (#"{"connection":"c"}"#, Secret("c")), (#"{"rooms":[],"connection":null}"#, nil), (#"{"rooms":1}"#, nil),
        ] as [(String, Secret?)]
    )
    func connection(_ body: String, _ token: Secret?) {
        #expect(outcome(body, rooms: [], connection: true) == .answered(TokenAnswer(connection: .success(token))))
    }

    @Test(
        "A connection's token that is none is an error of the connection alone",
        arguments: ["1", #""""#, "{}", "[]"]
    )
    func badConnection(_ value: String) {
        let body = #"{"rooms":{"a":{"token":"t"}},"connection":\#(value)}"#
        guard case .answered(let answer) = outcome(body, connection: true) else {
            Issue.record("not answered")
            return
        }
        #expect(answer.rooms["a"] == .success(Grant(token: Secret("t"))))
        guard case .failure(let error)? = answer.connection else {
            Issue.record("no error")
            return
        }
        #expect(error.code == .unavailable)
    }

    @Test(
        "An answer that is none fails as a whole",
        arguments: [
            (200, "", "not JSON"), (200, "<html>hush</html>", "not JSON but text/html"),
            (200, #"{"rooms":{"#, "not JSON"),
            (200, "[]", "object"), (200, "{}", "rooms"), (200, #"{"rooms":[]}"#, "PHP"),
            (200, #"{"rooms":"hush"}"#, "rooms"),
            (204, "", "not JSON"), (302, "", "redirect"), (400, #"{"error":"bad_request"}"#, "400"), (404, "{}", "404"),
            (429, "", "429"), (500, "", "500"), (503, "hush", "503"),
        ]
    )
    func badAnswers(_ status: Int, _ body: String, _ word: String) {
        guard case .failed(let error, let pause) = outcome(body, status: status) else {
            Issue.record("not failed")
            return
        }
        #expect(error.code == .unavailable)
        #expect(error.message.contains(word), "\(error.message)")
        #expect(!error.message.contains("hush"))
        #expect(pause == .seconds(7))
    }

    @Test("401 and 403 say that the user is not known, whatever the body", arguments: [401, 403])
    func unauthorized(_ status: Int) {
        guard case .failed(let error, _) = outcome(#"{"rooms":{"a":{"token":"t"}}}"#, status: status) else {
            Issue.record("not failed")
            return
        }
        #expect(error.code == .unauthorized)
    }

    @Test("A route that cannot be reached is unavailable")
    func transport() {
        let error = TransportError(.timedOut, "no answer")
        let outcome = AuthOutcome(.failure(error), to: AuthRequest(rooms: ["a"], wantsConnection: false), maxToken: 1)
        #expect(outcome == .failed(RoomError(.unavailable, "no answer"), pause: nil))
    }

    @Test("Secrets do not show in what is printed")
    func printing() {
        let answer = TokenAnswer(
            connection: .success(Secret("hush")),
            rooms: ["a": .success(Grant(token: Secret("hush"), keys: ["k": Secret("hush")]))]
        )
        #expect(!"\(answer)".contains("hush"))
        var text = ""
        dump(answer, to: &text)
        #expect(!text.contains("hush"))
    }
}

extension Result where Failure == RoomError {
    /// The code of a failure.
    var code: RoomError.Code? {
        if case .failure(let error) = self { return error.code }
        return nil
    }
}
