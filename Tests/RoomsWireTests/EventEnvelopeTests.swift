import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@Suite struct EventEnvelopeTests {
    enum Expected: Equatable {
        case whole
        case json(String)
        case sealed(String)
        case binary
    }

    struct Row: CustomTestStringConvertible {
        var payload: [UInt8]
        var tagEvent: ByteString?
        var tagAt: ByteString?
        var name: ByteString
        var content: Expected
        var at: Int64?

        init(
            _ payload: String,
            event: ByteString? = nil,
            tagAt: ByteString? = nil,
            _ name: ByteString = "message",
            _ content: Expected = .whole,
            at: Int64? = nil
        ) {
            self.init(bytes: Array(payload.utf8), event: event, tagAt: tagAt, name, content, at: at)
        }

        init(
            bytes: [UInt8],
            event: ByteString? = nil,
            tagAt: ByteString? = nil,
            _ name: ByteString = "message",
            _ content: Expected = .whole,
            at: Int64? = nil
        ) {
            payload = bytes
            tagEvent = event
            self.tagAt = tagAt
            self.name = name
            self.content = content
            self.at = at
        }

        var testDescription: String { ByteString(payload).description }
    }

    static let rows: [Row] = [
        // envelopes
        Row(#"{"event":"updated","data":{"n":1}}"#, "updated", .json(#"{"n":1}"#)),
        Row(#"{"data":[1, 2],"event":"updated"}"#, "updated", .json("[1, 2]")),
        Row(" {\n\"event\" : \"a b\" ,\t\"data\" : 1.10 }\r\n", "a b", .json("1.10")),
        Row(#"{"event":"e","data":null}"#, "e", .json("null")),
        Row(#"{"event":"e","data":"x\"y","at":1764460800000}"#, "e", .json(#""x\"y""#), at: 1_764_460_800_000),
        Row(#"{"at":0,"event":"e","sealed":"eyJ.."}"#, "e", .sealed(#""eyJ..""#), at: 0),
        Row(#"{"event":"e","sealed":{"not":"a string"}}"#, "e", .sealed(#"{"not":"a string"}"#)),
        Row(#"{"event":"","data":1}"#, "", .json("1")),
        Row(#"{"event":"é\n\u00e9\ud83d\ude00","data":1}"#, "é\né😀", .json("1")),
        Row(#"{"event":"\ud800","data":1}"#, "\u{fffd}", .json("1")),
        Row(#"{"\u0065vent":"e","d\u0061ta":1}"#, "e", .json("1")),
        Row(#"{"event":"joined","data":1}"#, "joined", .json("1")),
        Row(#"{"event":"e","data":{"event":"inner","data":2}}"#, "e", .json(#"{"event":"inner","data":2}"#)),
        // a time that is none is no reason against the envelope
        Row(#"{"event":"e","data":1,"at":"2026-01-01"}"#, "e", .json("1")),
        Row(#"{"event":"e","data":1,"at":1.5}"#, "e", .json("1")),
        Row(#"{"event":"e","data":1,"at":1e3}"#, "e", .json("1")),
        Row(#"{"event":"e","data":1,"at":-1}"#, "e", .json("1")),
        Row(#"{"event":"e","data":1,"at":null}"#, "e", .json("1")),
        Row(#"{"event":"e","data":1,"at":18446744073709551616}"#, "e", .json("1")),
        Row(#"{"event":"e","data":1,"at":253402300799999}"#, "e", .json("1"), at: 253_402_300_799_999),
        Row(#"{"event":"e","data":1,"at":253402300800000}"#, "e", .json("1")),
        // no envelopes
        Row("{}"), Row("[]"), Row("null"), Row("12345678901234567890"), Row(#""event""#), Row(" {} "),
        Row(#"[{"event":"e","data":1}]"#), Row(#"{"event":"e"}"#), Row(#"{"data":1}"#), Row(#"{"sealed":"s"}"#),
        Row(#"{"event":1,"data":1}"#), Row(#"{"event":null,"data":1}"#), Row(#"{"event":["e"],"data":1}"#),
        Row(#"{"event":"e","data":1,"sealed":"s"}"#), Row(#"{"event":"e","data":1,"more":2}"#),
        Row(#"{"more":2,"event":"e","data":1}"#), Row(#"{"Event":"e","data":1}"#), Row(#"{"event":"e","at":1}"#),
        Row(#"{"event":"e","event":"f","data":1}"#), Row(#"{"event":"e","data":1,"data":2}"#),
        Row(#"{"event":"e","data":1,"at":1,"at":2}"#), Row(#"{"event":"e","data":1,"\u0061t":1,"at":2}"#),
        Row(#"{"event":"e","data":1,"":0}"#), Row(#"{"event":"e","data":1,"\\":0}"#),
        Row(#"{"a":{"event":"e","data":1}}"#),
        // tags
        Row(#"{"n":1}"#, event: "updated", "updated"),
        Row(#"{"event":"e","data":1,"at":5}"#, event: "t", "t"),
        Row(#"{"event":"e","data":1,"at":5}"#, event: "t", tagAt: "7", "t", at: 7),
        Row(#"{"event":"e","data":1,"at":5}"#, tagAt: "7", "e", .json("1"), at: 7),
        Row(#"{"event":"e","data":1,"at":5}"#, tagAt: "soon", "e", .json("1"), at: 5),
        Row("[1]", tagAt: "1764460800000", at: 1_764_460_800_000), Row("[1]", tagAt: ""), Row("[1]", tagAt: "-5"),
        Row("[1]", tagAt: "1.5"), Row("[1]", tagAt: " 1"), Row("[1]", tagAt: "99999999999999999999"),
        Row("[1]", event: "", ""),
        // not JSON
        Row("", "message", .binary), Row(" ", "message", .binary), Row("plain text", "message", .binary),
        Row(bytes: [0, 1, 2, 0xff], "message", .binary),
        Row(bytes: [0, 1, 2, 0xff], event: "blob", tagAt: "9", "blob", .binary, at: 9),
        Row("", event: "e", "e", .binary),
        Row(bytes: Array(#"{"event":"e","data":""#.utf8) + [0xff] + Array(#""}"#.utf8), "message", .binary),
        Row(#"{"event":"e","data":1}x"#, "message", .binary), Row(#"{"event":"e","data":1,}"#, "message", .binary),
        Row(#"{"event":"e","data":1"#, "message", .binary), Row(#"{"event":"e","data":}"#, "message", .binary),
        Row(#"{"event":"e" "data":1}"#, "message", .binary), Row(#"{"event":"e","data":1]"#, "message", .binary),
        Row(#"{"event":"e","data":012}"#, "message", .binary),
        Row(#"{"more":2,"event":"e","data":1"#, "message", .binary),
        Row("\u{feff}{\"event\":\"e\",\"data\":1}", "message", .binary), Row("[1]{", event: "e", "e", .binary),
    ]

    @Test("name, data and time of an event come from its tags, its envelope or the payload", arguments: rows)
    func row(_ row: Row) {
        let guarded = GuardedMemory(capacity: row.payload.count)
        let envelope = guarded.withBytes(row.payload) { payload in
            EventEnvelope.read(payload: payload, tagEvent: row.tagEvent, tagAt: row.tagAt)
        }
        #expect(envelope.name == row.name)
        #expect(envelope.at == row.at)
        #expect(content(of: envelope, in: row.payload) == row.content)
    }

    @Test("data in an envelope may be nested as deep as a payload may be")
    func depth() {
        for (depth, isJSON) in [(511, true), (512, false)] {
            let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            for key in ["data", "other"] {
                let payload = Array(#"{"event":"e","\#(key)":\#(nested)}"#.utf8)
                let envelope = payload.withUnsafeBytes {
                    EventEnvelope.read(payload: $0, tagEvent: nil, tagAt: nil)
                }
                #expect((envelope.content != .binary) == isJSON)
                #expect((envelope.name == "e") == (isJSON && key == "data"))
                #expect(payload.withUnsafeBytes { JSONScanner.isValid($0) } == isJSON)
            }
        }
    }

    @Test("an envelope that is cut anywhere is not JSON, and nothing behind its end is read")
    func cut() {
        let payload = Array(#"{"event":"updated","data":{"n":[1,"é"]},"at":1764460800000}"#.utf8)
        let guarded = GuardedMemory(capacity: payload.count)
        for end in 0..<payload.count {
            let envelope = guarded.withBytes(payload[..<end]) {
                EventEnvelope.read(payload: $0, tagEvent: nil, tagAt: nil)
            }
            #expect(envelope.content == .binary, "\(end)")
            #expect(envelope.name == "message", "\(end)")
        }
    }

    private func content(of envelope: EventEnvelope, in payload: [UInt8]) -> Expected {
        switch envelope.content {
        case .json(let range) where range == 0..<payload.count: .whole
        case .json(let range): .json(String(decoding: payload[range], as: UTF8.self))
        case .sealed(let range): .sealed(String(decoding: payload[range], as: UTF8.self))
        case .binary: .binary
        }
    }
}
