import RoomsRuntime
import RoomsWire
import Testing

@Suite struct JSONWriterTests {
    @Test("commas, quotes and escapes are the writer's business")
    func compact() {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("a\"b")
            writer.array { writer in
                writer.integer(Int64.min)
                writer.integer(UInt64.max)
                writer.bool(true)
                writer.bool(false)
                writer.null()
                writer.array { _ in }
                writer.object { _ in }
            }
            writer.key(literal: "c")
            writer.string("é\n\u{1}\u{7f}\\/")
            writer.key(literal: "d")
            writer.raw(Array("{ \"kept\" : 1.10 }".utf8))
        }
        let expected =
            #"{"a\"b":[-9223372036854775808,18446744073709551615,true,false,null,[],{}],"c":"é\n\u0001"#
            + "\u{7f}" + #"\\/","d":{ "kept" : 1.10 }}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test("what is not UTF-8 becomes U+FFFD as Swift itself has it")
    func invalid() throws {
        let samples: [[UInt8]] = [
            [0xff], [0xc0, 0xaf], [0xe2, 0x82], [0xe2, 0x82, 0x41], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98],
            [0xf0, 0x9f, 0x41], [0xf4, 0x90, 0x80, 0x80], [0xc3], [0xc3, 0x28], [0x80, 0x61], [0xf0, 0x80, 0x80, 0x80],
        ]
        for sample in samples {
            var writer = JSONWriter()
            writer.string(ByteString(sample))
            let back = try JSONDocument.parse(writer.bytes).root.string
            #expect(back == ByteString(String(decoding: sample, as: UTF8.self)), "\(sample)")
        }
    }
}
