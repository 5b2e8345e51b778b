import BridgeTestSupport
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

    @Test("whatever is written is JSON and reads back as it was")
    func property() throws {
        var random = SeededRandom(seed: 1)
        for _ in 0..<2_000 {
            let value = RandomValue(depth: 4, &random)
            var writer = JSONWriter([UInt8(ascii: "x")])
            value.write(to: &writer)
            let text = Array(writer.bytes.dropFirst())
            #expect(writer.bytes[0] == UInt8(ascii: "x"))
            #expect(text.withUnsafeBytes { JSONScanner.isValid($0) })
            #expect(RandomValue(try JSONDocument.parse(text).root) == value)
            #expect(!text.contains { $0 <= 0x20 } || value.holdsSpace)
        }
    }
}

private indirect enum RandomValue: Equatable {
    case object([Member])
    case array([RandomValue])
    case string(ByteString)
    case number(Int64)
    case bool(Bool)
    case null

    struct Member: Equatable {
        var key: ByteString
        var value: RandomValue
    }

    init(depth: Int, _ random: inout SeededRandom) {
        switch Int.random(in: depth > 0 ? 0...5 : 2...5, using: &random) {
        case 0:
            self = .object(
                (0..<Int.random(in: 0...4, using: &random)).map { _ in
                    Member(key: Self.text(&random), value: RandomValue(depth: depth - 1, &random))
                }
            )
        case 1:
            self = .array(
                (0..<Int.random(in: 0...4, using: &random)).map { _ in RandomValue(depth: depth - 1, &random) }
            )
        case 2: self = .string(Self.text(&random))
        case 3: self = .number(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random))
        case 4: self = .bool(Bool.random(using: &random))
        default: self = .null
        }
    }

    init(_ node: JSONNode) {
        switch node.kind {
        case .object(let members): self = .object(members.map { Member(key: $0.key, value: RandomValue($0.value)) })
        case .array(let elements): self = .array(elements.map { RandomValue($0) })
        case .string(let text): self = .string(text)
        case .number: self = node.integer(as: Int64.self).map { .number($0) } ?? .null
        case .bool(let value): self = .bool(value)
        case .null: self = .null
        }
    }

    var holdsSpace: Bool {
        switch self {
        case .object(let members): members.contains { $0.key.bytes.contains(0x20) || $0.value.holdsSpace }
        case .array(let elements): elements.contains(where: \.holdsSpace)
        case .string(let text): text.bytes.contains(0x20)
        case .number, .bool, .null: false
        }
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .object(let members):
            writer.object { writer in
                for member in members {
                    writer.key(member.key)
                    member.value.write(to: &writer)
                }
            }
        case .array(let elements): writer.array { writer in for element in elements { element.write(to: &writer) } }
        case .string(let text): writer.string(text)
        case .number(let value): writer.integer(value)
        case .bool(let value): writer.bool(value)
        case .null: writer.null()
        }
    }

    /// Valid text of up to twelve scalars, most of them from where the escapes and the lengths change.
    private static func text(_ random: inout SeededRandom) -> ByteString {
        let edges: [UInt32] = [0, 8, 9, 10, 12, 13, 0x1f, 0x20, 0x22, 0x5c, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10ffff]
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let value =
                random.one(in: 2)
                ? edges.randomElement(using: &random) : UInt32.random(in: 0x20...0xffff, using: &random)
            text.unicodeScalars.append(value.flatMap { Unicode.Scalar($0) } ?? "x")
        }
        return ByteString(text)
    }
}
