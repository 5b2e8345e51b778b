internal import BridgeTestSupport
internal import Foundation

/// The package on a machine of its own: one boot for most of the scenarios, a power cut, and another boot of the same disk.
actor Machine {
    static let shared = Machine()

    /// `ok`, or why not, by the name of the scenario; nil where there is no systemd to boot.
    private var run: Task<[String: String]?, any Error>?

    func verdicts() async throws -> [String: String]? {
        let run = self.run ?? Task { try await Self.boot() }
        self.run = run
        return try await run.value
    }

    private static let folder = Programs.root + "/Tests/EndToEndTests/Machine"

    private static let configuration = """
        {
          "servers": { "main": { "url": "ws://127.0.0.1:8000/connection/websocket" } },
          "endpoints": {
            "app": { "url": "http://127.0.0.1:9000/hooks/rooms", "signing": [ { "credential": "app" } ] },
            "lines": { "unix": "/run/app/events.sock", "protocol": "ndjson" }
          },
          "rooms": [ { "room": "shop", "to": ["app", "lines"] } ]
        }
        """

    private static let hub = """
        {"rooms": [
          {"pattern": "shop", "public": true, "history": 1000}, {"pattern": "small", "public": true, "history": 1000}
        ]}
        """

    private static func boot() async throws -> [String: String]? {
        guard try RequiredProgram.systemd.find() != nil else { return nil }
        guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-nspawn") else {
            let line = "LEFT OUT: the package under a real systemd needs root and systemd-container\n"
            FileHandle.standardError.write(Data(line.utf8))
            return nil
        }
        // Not in /tmp: that is what the machine has of its own.
        let disk = try Disk()
        let lint = try await disk.pack()
        _ = try disk.write(configuration, to: "opt/config.json")
        _ = try disk.write(hub, to: "etc/hub.json")
        _ = try disk.write("whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk\n", to: "opt/old-secret")
        _ = try disk.write("whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3\n", to: "opt/new-secret")
        _ = try disk.write(
            String(contentsOfFile: folder + "/sink.py", encoding: .utf8),
            to: "usr/local/bin/sink.py"
        )
        let first = try await disk.boot(until: "cut the power")
        let second = try await disk.boot(until: nil)
        return scenarios(in: first + second).merging(["is_clean_for_lintian": lint]) { $1 }
    }

    private static func scenarios(in output: String) -> [String: String] {
        var found: [String: String] = [:]
        var last = ""
        for line in output.split(separator: "\n").map(String.init) {
            if line.hasPrefix("ok ") {
                found[String(line.dropFirst(3))] = "ok"
            } else if line.hasPrefix("not ok "), let colon = line.firstIndex(of: ":") {
                last = String(line[..<colon].dropFirst(7))
                found[last] = line
            } else if line.hasPrefix("  ") {
                found[last]? += "\n" + line
            }
        }
        return found
    }
}

/// The disk of the machine: what it has beside this one's own root, and what it wrote.
private final class Disk: Sendable {
    private let path: String

    init() throws {
        path = Programs.root + "/.build/machine.\(getpid())"
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path + "/files/opt", withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to name: String) throws {
        let file = path + "/files/" + name
        let folder = (file as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try text.write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// The package, of the programs that the tests were built with; and what lintian says of it.
    ///
    /// `make deb` links them in another way.
    func pack() async throws -> String {
        let binaries = (Programs.bridge as NSString).deletingLastPathComponent
        let built = try await Tool.run(
            "deploy/debian/build-deb",
            [binaries, path + "/package"],
            within: .seconds(90)
        )
        guard built.isDone else { throw ChildProcess.Failure(built.output) }
        let package = try FileManager.default.contentsOfDirectory(atPath: path + "/package").first ?? ""
        try FileManager.default.copyItem(
            atPath: "\(path)/package/\(package)",
            toPath: path + "/files/opt/roombridge.deb"
        )
        guard FileManager.default.isExecutableFile(atPath: "/usr/bin/lintian") else { return "ok" }
        let links = "custom-library-search-path,hardening-no-bindnow,unstripped-binary-or-object"
        let verdict = try await Tool.run(
            "/usr/bin/lintian",
            [
                "--allow-root", "--pedantic", "-E", "-I", "--fail-on", "error,warning,info,pedantic", "--suppress-tags",
                links, path + "/files/opt/roombridge.deb",
            ]
        )
        return verdict.isDone && verdict.output.isEmpty ? "ok" : verdict.output
    }

    /// Runs the scenarios to their end, or cuts the power after a line.
    func boot(until last: String?) async throws -> String {
        let folder = Programs.root + "/Tests/EndToEndTests/Machine"
        let child = try ChildProcess(folder + "/box.sh", [path, folder + "/scenarios.sh"])
        guard let last else {
            _ = try await child.wait(within: .seconds(170))
            return child.output
        }
        let output = path + "/disk/upper/box-out"
        func said() -> String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }
        _ = try await eventually(within: .seconds(170), "the end of the first boot") {
            said().contains(last + "\n") || child.exit != nil ? true : nil
        }
        let text = said()
        try await child.kill()
        return text.isEmpty ? child.output : text
    }
}
