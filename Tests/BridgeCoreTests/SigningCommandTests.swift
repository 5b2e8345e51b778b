import BridgeCore
import BridgeTestSupport
import Foundation
import Testing

@testable import roombridge

/// `keygen` and `verify`, from their command lines on.
@Suite struct SigningCommandTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func keygen(_ arguments: String...) throws -> (said: [String], remarks: [String]) {
        guard case .keygen(let command) = try Invocation.parse(["keygen"] + arguments) else { return ([], []) }
        var (said, remarks): ([String], [String]) = ([], [])
        try command.run(say: { said.append($0) }, remark: { remarks.append($0) })
        return (said, remarks)
    }

    private func verify(_ arguments: [String]) throws -> [String] {
        guard case .verify(let command) = try Invocation.parse(["verify"] + arguments) else { return [] }
        var said: [String] = []
        try command.run { said.append($0) }
        return said
    }

    @Test func `keygen prints a secret, or keeps it in a file of its owner's`() throws {
        let plain = try keygen()
        #expect(plain.said.count == 1 && plain.said[0].hasPrefix("whsec_") && plain.remarks.isEmpty)
        let pair = try keygen("--ed25519")
        #expect(pair.said.count == 1 && pair.said[0].hasPrefix("whsk_"))
        #expect(pair.remarks.count == 1 && pair.remarks[0].contains("whpk_"))
        let file = folder.file("key")
        let kept = try keygen("--ed25519", "--out", file)
        #expect(kept.said.count == 1 && kept.said[0].hasPrefix("whpk_"))
        #expect(try keygen("--show-public", file).said == kept.said)
        #expect(try String(contentsOfFile: file, encoding: .utf8).hasPrefix("whsk_"))
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let again = #expect(throws: CommandError.self) { try keygen("--out", file) }
        #expect(again?.message == "\(file): is there already, take another name or remove it")
        try folder.write(plain.said[0], to: "plain")
        let none = #expect(throws: CommandError.self) { try keygen("--show-public", folder.file("plain")) }
        #expect(none?.message.contains("has no public half") == true)
    }

    @Test func `verify reads keys and requests from files`() throws {
        try folder.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", to: "key")
        let headers = """
            webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek
            webhook-timestamp: 1614265330
            webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=

            """
        let body = #"{"test": 2432232314}"#
        try folder.write(headers, to: "headers")
        try folder.write(body, to: "body")
        try folder.write(headers + "\n" + body, to: "request")
        let key = ["--secret", folder.file("key")]
        let good = ["good: signed right (v1, \(folder.file("key"))), 0ms before it was received"]
        #expect(try verify(key + ["--received", "1614265330", folder.file("request")]) == good)
        let two = ["--headers", folder.file("headers"), "--body=\(folder.file("body"))"]
        #expect(try verify(key + ["--received", "2021-02-25T15:02:10Z"] + two) == good)
        #expect(try verify(key + ["--tolerance", "36500d"] + two).count == 1)
        let old = #expect(throws: CommandError.self) { try verify(key + two) }
        #expect(old?.exitCode == .refused && old?.message.hasPrefix("too old: ") == true)
        let missing = #expect(throws: CommandError.self) { try verify(key + [folder.file("none")]) }
        #expect(missing?.exitCode == .inputOutput)
        let noKey = #expect(throws: CommandError.self) { try verify(["--secret", folder.file("body")] + two) }
        #expect(noKey?.exitCode == .configuration)
    }

    @Test func `verify takes the secrets of an endpoint`() throws {
        try folder.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", to: "key")
        let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        try FileManager.default.setAttributes(mode, ofItemAtPath: folder.file("key"))
        try folder.write(
            """
            {"servers": {"main": {"url": "ws://127.0.0.1:8000/ws"}},
             "endpoints": {"app": {"url": "http://127.0.0.1/", "signing": [{"file": "key"}]}, "b": {"url": "http://127.0.0.1/"}},
             "rooms": [{"room": "shop", "to": ["app"]}]}
            """,
            to: "config.json"
        )
        try folder.write("webhook-id: a\n\n{}", to: "request")
        let config = ["--config", folder.file("config.json"), folder.file("request"), "--endpoint"]
        let error = #expect(throws: CommandError.self) { try verify(config + ["app"]) }
        #expect(error?.exitCode == .refused, "\(String(describing: error))")
        let unknown = #expect(throws: CommandError.self) { try verify(config + ["ap"]) }
        #expect(unknown?.message.hasSuffix("has no endpoint \"ap\", must be one of app, b") == true)
        let unsigned = #expect(throws: CommandError.self) { try verify(config + ["b"]) }
        #expect(unsigned?.message.contains("signs nothing") == true)
    }

    @Test(
        arguments: [
            ("keygen x", "keygen takes no argument \"x\", it takes --ed25519, --out and --show-public"),
            ("keygen --rsa", "keygen has no option \"--rsa\", see: roombridge help keygen"),
            ("keygen --show-public f --ed25519", "--show-public makes no secret, must stand alone"),
            ("keygen --out", "--out needs a value"),
            ("verify", "verify needs --secret FILE, or --config FILE with --endpoint NAME"),
            ("verify --config f", "--config and --endpoint need each other, must be both or none"),
            ("verify --secret f --headers h", "--headers and --body need each other, must be both or none"),
            (
                "verify --secret f --headers h --body b r",
                "--headers and --body are the request, \"r\" must be left out"
            ),
            ("verify --secret f a b", "verify takes one request, 2 were given"),
            ("verify --secret -", "standard input can be one of the files, must not be 2 of them"),
            ("verify --secret f --tolerance 5", "--tolerance is \"5\", must be a length of time such as 5m"),
            (
                "verify --secret f --received noon",
                "--received is \"noon\", must be seconds since 1970 or such as 2026-11-30T02:00:00Z"
            ),
            (
                "verify --secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "a secret in a command line can be seen by everybody on this machine, must be in a file"
            ),
        ]
    )
    func `mistakes say what would be right`(_ line: String, _ message: String) {
        let words = line.split(separator: " ").map(String.init)
        let error = #expect(throws: UsageError.self) { try Invocation.parse(words) }
        #expect(error?.message == message)
    }
}
