import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import BridgeDelivery

@Suite struct StreamVerdictTests {
    struct Row: Sendable {
        let failure: StreamFailure
        let scope: FailureScope
        var isUnreachable = false
        var budget = 3

        init(_ failure: StreamFailure, _ scope: FailureScope, isUnreachable: Bool = false, budget: Int = 3) {
            self.failure = failure
            self.scope = scope
            self.isUnreachable = isUnreachable
            self.budget = budget
        }
    }

    static let rows: [Row] = [
        Row(.connect(TransportError(.noSuchSocket, "x")), .endpoint, isUnreachable: true),
        Row(.connect(TransportError(.refused, "x")), .endpoint, isUnreachable: true),
        Row(.connect(TransportError(.notPermitted, "x")), .endpoint, isUnreachable: true),
        Row(.connect(TransportError(.timedOut, "x")), .endpoint, isUnreachable: true),
        Row(.connect(TransportError(.busy, "x")), .overload),
        Row(.noHello, .endpoint),
        Row(.otherVersion(2), .endpoint),
        Row(.leftAtOnce, .endpoint),
        Row(.broken(nil), .lane, isUnreachable: true),
        Row(.broken(TransportError(.closed, "x")), .lane, isUnreachable: true),
        Row(.malformed, .lane),
        Row(.silent, .lane),
        Row(.unanswered(.read), .lane),
        Row(.unanswered(.line), .lane),
        Row(.unanswered(.protocol), .lane),
        Row(.later(.seconds(1), reason: "x"), .lane),
        Row(.never(reason: "x"), .event, budget: 0),
        Row(.tooLong(9, most: 8), .event, budget: 0),
    ]

    @Test("whose fault it is that a line was not acknowledged", arguments: rows)
    func scopes(_ row: Row) {
        guard case .refused(let refusal) = row.failure.verdict else { return #expect(Bool(false), "it was taken") }
        #expect(refusal.scope == row.scope)
        #expect(refusal.isUnreachable == row.isUnreachable)
        #expect(refusal.budget == row.budget)
        #expect(refusal.status == nil && !refusal.isFinal && !refusal.reason.isEmpty)
        if case .later = row.failure { #expect(refusal.isPostponement) } else { #expect(!refusal.isPostponement) }
        if case .tooLong = row.failure { #expect(refusal.isTooLarge) } else { #expect(!refusal.isTooLarge) }
    }

    @Test("a socket without the right to it says what is missing")
    func permission() {
        let verdict = StreamFailure.connect(TransportError(.notPermitted, "x")).verdict
        guard case .refused(let refusal) = verdict else { return }
        #expect("\(refusal.hint ?? "")".contains("let its group write to it"))
    }

    static let answers: [(String, ReceiverLine?)] = [
        ("ok", .acceptedOldest), (" ok\r", .acceptedOldest), ("7", .accepted([7])), ("\t12 ", .accepted([12])),
        ("0", .accepted([0])), ("", nil), ("OK", nil), ("okay", nil), ("-1", nil), ("1.0", nil), ("ok ok", nil),
        ("99999999999999999999", nil), ("{\"op\":\"ack\",\"n\":1}", nil),
    ]

    @Test("an answer to a line is ok or a number", arguments: answers)
    func answer(_ text: String, _ expected: ReceiverLine?) {
        #expect(ReceiverLine(answer: Array(text.utf8)) == expected)
    }

    static let messages: [(String, ReceiverLine?)] = [
        (#"{"op":"ack","n":17}"#, .acceptedAll(upTo: 17)),
        (#"{"op":"ack","ns":[3,5]}"#, .accepted([3, 5])),
        (#"{"op":"ack","ns":[]}"#, .accepted([])),
        (#"{"op":"ack","ns":3}"#, nil),
        (#"{"op":"nack","n":18,"delay_ms":500,"reason":"busy"}"#, .later(18, .milliseconds(500), reason: "busy")),
        (#"{"op":"nack","n":18}"#, .later(18, nil, reason: "")),
        (#"{"op":"nack","n":18,"delay_ms":-1}"#, nil),
        (#"{"op":"nack","n":1,"delay_ms":18446744073709551615}"#, .later(1, .seconds(31_536_000), reason: "")),
        (#"{"op":"term","n":18,"reason":"no"}"#, .never(18, reason: "no")),
        (#"{"op":"wip","n":18}"#, .working(18)),
        (#"{"op":"pause","ms":5000}"#, .pause(.seconds(5))),
        (#"{"op":"credit","n":64}"#, .credit(64)),
        (#"{"op":"ping"}"#, .ping), (#"{"op":"pong"}"#, .pong), (#"{"op":"bye","reason":"x"}"#, .bye),
        (#"{"op":"new","n":[1]}"#, .unknown), (#" {"x":{},"op":"ping"} "#, .ping),
        (#"{"op":7}"#, nil), (#"{}"#, nil), ("ping", nil), (#"["ping"]"#, nil), (#"{"op":"ping"}}"#, nil),
        (#"{"op":"ack","n":18446744073709551616}"#, nil), ("{\"op\":\"pi\u{0}ng\"}", nil),
        (#"{"op":"hello","window":0}"#, nil), (#"{"op":"hello","credit":-1}"#, nil),
        (#"{"op":"hello","resume":[]}"#, nil),
        (#"{"op":"hello","resume":{"a":"b"}}"#, nil),
    ]

    @Test("a line of the protocol is read, or nothing", arguments: messages)
    func message(_ text: String, _ expected: ReceiverLine?) {
        #expect(ReceiverLine(message: Array(text.utf8)) == expected)
    }

    @Test("a hello says what the receiver can, and never more than we can")
    func hello() {
        let text = #"{"op":"hello","v":1,"window":9999,"max_line":70,"store":"k9","resume":{"a":3,"b\n":4}}"#
        guard case .hello(let hello) = ReceiverLine(message: Array(text.utf8)) else {
            return #expect(Bool(false), "it is no hello")
        }
        #expect(hello.version == 1 && hello.window == 256 && hello.longestLine == 70)
        #expect(hello.store == "k9" && hello.resume == ["a": 3, "b\n": 4])
    }
}
