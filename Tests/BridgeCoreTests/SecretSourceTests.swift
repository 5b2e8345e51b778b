import BridgeCore
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@Suite struct SecretSourceTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func write(_ bytes: [UInt8], to name: String = "secret", mode: Int = 0o600) throws -> SecretReference {
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file(name)))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.file(name))
        return .file(ByteString(folder.file(name)))
    }

    private func source(_ variables: [ByteString: ByteString] = [:]) -> SecretSource {
        SecretSource { variables[$0] }
    }

    @Test(arguments: [
        ("abc", "abc"), ("abc\n", "abc"), ("abc\r\n", "abc"), ("abc\n\n", "abc\n"), ("abc\r", "abc\r"),
        (" abc \n", " abc "),
        ("\nabc", "\nabc"),
    ])
    func `one line end is taken off and nothing else`(_ content: String, _ secret: String) throws {
        #expect(try source().load(write(Array(content.utf8))) == Secret(secret))
    }

    @Test(arguments: ["", "\n", "\r\n"])
    func `an empty secret is an error`(_ content: String) throws {
        let reference = try write(Array(content.utf8))
        let error = #expect(throws: InputError.self) { try source().load(reference) }
        #expect(error?.code == .empty)
    }

    @Test(arguments: [(0o600, true), (0o640, true), (0o400, true), (0o660, false), (0o644, false), (0o602, false)])
    func `a file that others can read or change is refused`(_ mode: Int, _ isGood: Bool) throws {
        let reference = try write(Array("abc".utf8), mode: mode)
        if isGood {
            #expect(try source().load(reference) == Secret("abc"))
        } else {
            let error = #expect(throws: InputError.self) { try source().load(reference) }
            #expect(error?.code == .unsafe)
            #expect(error?.message.contains("0\(String(mode, radix: 8))") == true)
        }
    }

    @Test func `a link, a folder, a pipe and a missing file are refused at once`() throws {
        _ = try write(Array("abc".utf8))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"),
            withDestinationPath: folder.file("secret")
        )
        #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
        let codes: [(String, InputError.Code)] = [
            ("link", .unsafe), ("pipe", .unsafe), ("missing", .missing), ("", .unsafe),
        ]
        for (name, code) in codes {
            let error = #expect(throws: InputError.self) { try source().load(.file(ByteString(folder.file(name)))) }
            #expect(error?.code == code, "\(name)")
        }
    }

    @Test func `a file longer than 64 KiB is refused`() throws {
        #expect(try source().load(write([UInt8](repeating: 65, count: 65_536))).bytes.count == 65_536)
        let reference = try write([UInt8](repeating: 65, count: 65_537))
        let error = #expect(throws: InputError.self) { try source().load(reference) }
        #expect(error?.code == .tooLarge)
    }

    @Test func `a credential is looked for under secret_NAME first, then under NAME`() throws {
        let source = source(["CREDENTIALS_DIRECTORY": ByteString(folder.path)])
        // systemd's own files carry an ACL that shows as group bits.
        _ = try write(Array("plain\n".utf8), to: "orders", mode: 0o444)
        #expect(try source.load(.credential("orders")) == Secret("plain"))
        _ = try write(Array("prefixed\n".utf8), to: "secret_orders", mode: 0o440)
        #expect(try source.load(.credential("orders")) == Secret("prefixed"))
        #expect(throws: InputError.self) { try source.load(.credential("other")) }
        #expect(throws: InputError.self) { try self.source().load(.credential("orders")) }
    }

    @Test func `a variable of the environment may hold a secret`() throws {
        let source = source(["TOKEN": "abc", "EMPTY": ""])
        #expect(try source.load(.environment("TOKEN")) == Secret("abc"))
        #expect(throws: InputError.self) { try source.load(.environment("EMPTY")) }
        #expect(throws: InputError.self) { try source.load(.environment("OTHER")) }
    }

    @Test func `no error tells anything of a secret`() throws {
        let reference = try write(Array("hunter2hunter2".utf8), mode: 0o644)
        let error = #expect(throws: InputError.self) { try source().load(reference) }
        #expect(error.map { "\($0)".contains("hunter2") } == false)
        #expect("\(Secret("hunter2"))" == "<redacted>")
    }
}
