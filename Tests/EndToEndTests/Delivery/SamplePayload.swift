internal import RoomsRuntime

/// A publication as an app makes it, with what an endpoint must find of it.
struct SamplePayload: Sendable, CustomStringConvertible {
    let description: String
    /// The JSON for cent's `data`; nil when cent or the server would change or refuse it there.
    var plain: String?
    /// What goes by `b64data`.
    var bytes: [UInt8] = []
    /// The member of the published envelope that is the event's data; nil when the whole publication is.
    var member: String?
    var event = "message"
    var isJSON = true

    func request(room: String) -> String {
        if let plain { return #"{"channel":"\#(room)","data":\#(plain)}"# }
        let text = String(decoding: Base64.encode(bytes), as: UTF8.self)
        return #"{"channel":"\#(room)","b64data":"\#(text)"}"#
    }

    /// The bytes that the endpoint must get, of those that the server has.
    func expected(_ sent: [UInt8]) -> [UInt8]? {
        guard let member else { return sent }
        return JSONSlice(sent)[member]?.raw
    }

    static let all: [SamplePayload] = [
        SamplePayload("ordinary", plain: #"{"order":904,"total":"12.50","paid":true}"#),
        SamplePayload("an envelope", plain: #"{"event":"updated","data":{"n":1,"list":[1,2]}}"#, "data", "updated"),
        SamplePayload("pretty-printed", "{\n  \"order\" : 904,\r\n\t\"items\": [ 1,\n 2 ]\n}\n"),
        SamplePayload(
            "a pretty-printed envelope",
            "{\n  \"event\": \"paid\",\n  \"data\": {\n    \"n\" : 1.10\n  }\n}",
            "data",
            "paid"
        ),
        SamplePayload("a 20-digit number", plain: #"{"n":12345678901234567890,"m":-98765432109876543210}"#),
        SamplePayload("numbers as they were written", #"{"a":1.10,"b":-0,"c":1e400,"d":0.30000000000000004}"#),
        SamplePayload("null", "null"),
        SamplePayload("text", plain: #""grüße 🚀""#),
        SamplePayload("a lone surrogate and duplicate keys", #"{"a":"\ud800","a":2}"#),
        SamplePayload("not JSON", "not JSON at all", isJSON: false),
        SamplePayload("almost JSON", #"{"a":1,}"#, isJSON: false),
        SamplePayload("invalid UTF-8", [0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0xfe, 0x22, 0x7d]),
        SamplePayload("every byte", (0...255).map { UInt8($0) }),
        SamplePayload("100 kB of JSON", #"{"text":"\#(String(repeating: "0123456789", count: 10_000))"}"#),
        SamplePayload("100 kB of bytes", (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }),
    ]

    private init(_ description: String, plain: String, _ member: String? = nil, _ event: String = "message") {
        self.description = description
        self.plain = plain
        self.member = member
        self.event = event
    }

    private init(
        _ description: String,
        _ text: String,
        _ member: String? = nil,
        _ event: String = "message",
        isJSON: Bool = true
    ) {
        self.description = description
        bytes = Array(text.utf8)
        self.member = member
        self.event = event
        self.isJSON = isJSON
    }

    private init(_ description: String, _ bytes: [UInt8]) {
        self.description = description
        self.bytes = bytes
        isJSON = false
    }
}
