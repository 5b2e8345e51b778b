internal import BridgeTestSupport
internal import Foundation
internal import Rooms
internal import RoomsRuntime
internal import Testing

/// PyPI's `joserfc` as the other side of sealed values.
@Suite struct SealedExchangeTests {
    private static let key = Digest.sha256([Array("a key of the tests".utf8)])
    private static let texts: [String] = [
        "null", "{}", #"{"status":"sent"}"#, #"["é","😀"]"#, String(repeating: "0123456789", count: 2_000), "",
    ]

    /// Runs the script on lines of JSON; its answers in their order.
    private func exchange(_ requests: [[String: String]]) async throws -> [[String: String]] {
        let folder = try TemporaryDirectory()
        let lines = try requests.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        let input = try folder.write(lines.joined(separator: "\n") + "\n", to: "requests")
        let child = try ChildProcess(
            "/bin/sh",
            ["-c", "exec \"$0\" -u \"$1\" <\"$2\"", try Programs.python(), Programs.script("sealed.py"), input]
        )
        let exit = try await child.wait(within: .seconds(60))
        guard exit == .status(0) else { throw ChildProcess.Failure("joserfc: \(exit)\n\(child.output)") }
        return try child.output.split(separator: "\n").map {
            try JSONDecoder().decode([String: String].self, from: Data($0.utf8))
        }
    }

    private func request(_ verb: String, key: [UInt8] = key, _ members: [String: String]) -> [String: String] {
        var request = members
        request["do"] = verb
        request["key"] = String(decoding: Base64.encodeURL(key), as: UTF8.self)
        return request
    }

    @Test("what joserfc seals is opened here")
    func fromPython() async throws {
        var ring = KeyRing()
        ring.issue(Secret(Self.key), as: "schlüssel-1")
        let answers = try await exchange(Self.texts.map { request("seal", ["kid": "schlüssel-1", "text": $0]) })
        #expect(answers.count == Self.texts.count)
        for (answer, text) in zip(answers, Self.texts) {
            let token = try #require(answer["token"])
            #expect(try SealedValue.open(Array(token.utf8), with: ring) == Array(text.utf8))
            #expect(throws: SealedValue.Failure.noKey("schlüssel-1")) {
                try SealedValue.open(Array(token.utf8), with: KeyRing())
            }
        }
    }

    @Test("what is sealed here is opened by joserfc, and only with its key")
    func toPython() async throws {
        let cipher = try #require(AuthenticatedCipher(key: Secret(Self.key)))
        let tokens = Self.texts.map {
            String(decoding: SealedValue.seal(Array($0.utf8), as: "k1", with: cipher), as: UTF8.self)
        }
        let answers = try await exchange(tokens.map { request("open", ["token": $0]) })
        #expect(answers.map { $0["text"] } == Self.texts)
        #expect(answers.allSatisfy { $0["kid"] == "k1" })
        let others = try await exchange(tokens.map { request("open", key: Digest.sha256([[1]]), ["token": $0]) })
        #expect(others.count == tokens.count && others.allSatisfy { $0["error"] != nil && $0["text"] == nil })
    }

    @Test("other kinds that joserfc seals are refused, with the right key too")
    func otherKinds() async throws {
        var ring = KeyRing()
        ring.issue(Secret(Self.key), as: "k1")
        let kinds = [["alg": "A256KW"], ["alg": "A256GCMKW"], ["zip": "DEF"]]
        let answers = try await exchange(
            kinds.map { kind in request("seal", kind.merging(["kid": "k1", "text": "{}"]) { first, _ in first }) }
        )
        #expect(answers.count == kinds.count)
        for answer in answers {
            let token = try #require(answer["token"])
            #expect(throws: SealedValue.Failure.unsupported) { try SealedValue.open(Array(token.utf8), with: ring) }
        }
    }
}
