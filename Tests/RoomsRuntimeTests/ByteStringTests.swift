import RoomsRuntime
import Testing

@Suite struct ByteStringTests {
    @Test func `names that differ only in how accents are composed are two names`() {
        let composed = ByteString("caf\u{e9}")
        let decomposed = ByteString("cafe\u{301}")
        #expect("caf\u{e9}" == "cafe\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed]).count == 2)
        #expect(composed > decomposed)
    }

    @Test func `names are equal by all of their bytes, and then hash alike`() {
        let name = ByteString([UInt8](0...255))
        var other = name
        #expect(name == other && name.hashValue == other.hashValue)
        #expect(Set([name, other, "", "\0", "\0\0"] as [ByteString]).count == 4)
        other.bytes[255] = 0
        #expect(name != other && name != ByteString(Array(name.bytes.dropLast())))
        #expect(ByteString.empty == ByteString([]) && ByteString.empty != "\0")
        #expect(ByteString.empty.equals(UnsafeRawBufferPointer(start: nil, count: 0)))
    }

    @Test func `a description escapes what could forge a line`() {
        #expect(ByteString("a\r\n\tb\u{1}\u{1b}[0m\u{7f}").description == #"a\r\n\tb\x01\x1b[0m\x7f"#)
        #expect(ByteString("\u{85}\u{2028}\u{202e}\u{2069}").description == #"\u{85}\u{2028}\u{202e}\u{2069}"#)
        #expect(ByteString("\u{200e}\u{200f}\u{2029}\u{feff}").description == #"\u{200e}\u{200f}\u{2029}\u{feff}"#)
        #expect(ByteString(#"a\nb"#).description == #"a\\nb"#)
        #expect(ByteString("caf\u{e9} \u{1f600} \"=").description == "caf\u{e9} \u{1f600} \"=")
        #expect(ByteString([0x61, 0xff]).description == "a\u{fffd}")
    }

    @Test func `a payload is the bytes it was made of, and equal by them`() {
        let bytes = [UInt8](0...255)
        #expect(Payload(bytes).array == bytes)
        #expect(bytes.withUnsafeBytes { Payload(copying: $0) } == Payload(bytes))
        #expect(Payload(bytes) != Payload(bytes.reversed()))
        #expect(Payload.empty.array == [])
    }

    @Test func `a secret does not show`() {
        let secret = Secret("hunter2")
        var dumped = ""
        dump(["key": secret], to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
            #expect(!text.contains("hunter") && !text.contains("104"))
            #expect(text.contains("<redacted>"))
        }
        #expect(secret.matches(Array("hunter2".utf8)))
        #expect(!secret.matches(Array("hunter3".utf8)))
        #expect(!secret.matches(Array("hunter".utf8)))
    }
}
