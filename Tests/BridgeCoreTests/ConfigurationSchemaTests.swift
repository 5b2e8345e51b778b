import BridgeCore
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

/// `deploy/config.schema.json` is of one mind with the decoder, as PyPI's `jsonschema` reads it.
@Suite(.timeLimit(.minutes(1))) struct ConfigurationSchemaTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
    private static let schema = root + "/deploy/config.schema.json"

    /// What only a program that knows the machine, or the rest of the file, can find.
    private static let beyond = [
        "is not there, must be a file", "the environment has no variable", "systemd gave no credential",
        "there is no endpoint", "there is no server", "already, must be named once", "in another entry",
        "needs a signing secret", "must have one without: requests", "is there already in other letters",
        "stands beside \"bearer\"", "until: is \"",
    ]

    /// Says good or bad of each text; a key that stands twice is bad, as editors say.
    private static let judge = """
        import json, sys
        from jsonschema import Draft202012Validator
        schema = json.load(open(sys.argv[1]))
        Draft202012Validator.check_schema(schema)
        validator = Draft202012Validator(schema)
        def once(pairs):
            if len(dict(pairs)) != len(pairs): raise ValueError
            return dict(pairs)
        for text in json.load(open(sys.argv[2])):
            try: print("good" if validator.is_valid(json.loads(text, object_pairs_hook=once)) else "bad")
            except ValueError: print("bad")
        """

    @Test func `the schema and the decoder accept and reject the same files`() async throws {
        let folder = try TemporaryDirectory()
        _ = try folder.write(ConfigurationCorpus.secret, to: "secret_s")
        let secrets = SecretSource { name in
            switch name {
            case "S": ByteString(ConfigurationCorpus.secret)
            case "CREDENTIALS_DIRECTORY": ByteString(folder.path)
            default: nil
            }
        }
        let mistakes =
            ConfigurationErrorTests.wholeFile + ConfigurationErrorTests.servers
            + ConfigurationErrorTests.endpoints + ConfigurationErrorTests.rooms + ConfigurationErrorTests.others
        let texts = mistakes.map(\.text) + ConfigurationCorpus.bad + ConfigurationCorpus.good
        #expect(texts.count >= 150)
        _ = try folder.write(
            String(decoding: try JSONEncoder().encode(texts), as: UTF8.self),
            to: "texts"
        )
        let python = Self.root + "/.build/venv/bin/python"
        let child = try ChildProcess(python, ["-c", Self.judge, Self.schema, folder.file("texts")])
        #expect(try await child.wait(within: .seconds(30)) == .status(0), "\(child.output)")
        let verdicts = child.output.split(separator: "\n")
        try #require(verdicts.count == texts.count, "\(child.output)")
        var agreed = (good: 0, bad: 0)
        for (text, verdict) in zip(texts, verdicts) {
            let complaints = Self.complaints(text, secrets)
            let seen = complaints.filter { complaint in !Self.beyond.contains { complaint.contains($0) } }
            #expect(
                (verdict == "good") == seen.isEmpty,
                "the schema says \(verdict), check says \(complaints): \(text)"
            )
            if complaints.isEmpty, verdict == "good" { agreed.good += 1 }
            if !seen.isEmpty, verdict == "bad" { agreed.bad += 1 }
        }
        #expect(agreed.good == ConfigurationCorpus.good.count)
        #expect(agreed.bad >= 100)
    }

    @Test func `every key of the decoder is in the schema, the man page and the documentation`() throws {
        let folder = Self.root + "/Sources/BridgeCore/Config"
        var keys: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder)
        where file.hasPrefix("ConfigurationDecoder") {
            let source = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
            for list in source.matches(of: /keys: \[([^\]]*)\]/) {
                keys.formUnion(list.output.1.matches(of: /"([^"]+)"/).map { String($0.output.1) })
            }
        }
        #expect(keys.count > 40)
        let schema = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: Self.schema)))
        let known = Self.properties(of: schema)
        #expect(known == keys, "only one side has \(known.symmetricDifference(keys).sorted())")
        for document in ["docs/man/roombridge.json.5", "docs/CONFIG.md"] {
            let text = try String(contentsOfFile: "\(Self.root)/\(document)", encoding: .utf8)
            for key in keys where key != "$schema" { #expect(text.contains(key), "\(document) has no \(key)") }
        }
    }

    private static func complaints(_ text: String, _ secrets: SecretSource) -> [String] {
        do throws(ConfigurationError) {
            _ = try ConfigurationDecoder.decode(Array(text.utf8), file: "config.json", secrets: secrets)
            return []
        } catch {
            return error.issues.map(\.description)
        }
    }

    private static func properties(of schema: Any) -> Set<String> {
        if let list = schema as? [Any] { return list.reduce(into: []) { $0.formUnion(properties(of: $1)) } }
        guard let object = schema as? [String: Any] else { return [] }
        let own = (object["properties"] as? [String: Any]).map { Set($0.keys) } ?? []
        return object.values.reduce(into: own) { $0.formUnion(properties(of: $1)) }
    }
}
