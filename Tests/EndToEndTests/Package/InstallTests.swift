internal import BridgeTestSupport
internal import Foundation
internal import Testing

/// `make install` and `make uninstall` of a machine without a package.
@Suite(.timeLimit(.minutes(1))) struct InstallTests {
    private static func make(_ verb: String, _ folder: TemporaryDirectory) async throws -> Tool {
        let binaries = (Programs.bridge as NSString).deletingLastPathComponent
        return try await Tool.run("make", [verb, "DESTDIR=\(folder.path)", "prefix=/opt/rb", "BINARIES=\(binaries)"])
    }

    private static func files(_ folder: TemporaryDirectory) -> Set<String> {
        let all = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return Set(
            all.filter {
                var isFolder: ObjCBool = false
                return FileManager.default.fileExists(atPath: folder.file($0), isDirectory: &isFolder)
                    && !isFolder.boolValue
            }
        )
    }

    @Test func `everything goes under the prefix, and goes again`() async throws {
        let folder = try TemporaryDirectory()
        let installed = try await Self.make("install", folder)
        #expect(installed.isDone, "\(installed.output)")
        let files = Self.files(folder)
        for file in [
            "opt/rb/bin/roombridge", "opt/rb/bin/roomhub", "opt/rb/bin/roomtail",
            "opt/rb/lib/systemd/system/roombridge.service", "opt/rb/lib/systemd/system/roombridge.socket",
            "opt/rb/lib/systemd/system/roombridge@.service", "opt/rb/lib/systemd/system/roombridge@.socket",
            "opt/rb/lib/systemd/catalog/roombridge.catalog", "opt/rb/share/man/man1/roombridge.1",
            "opt/rb/share/man/man1/roomhub.1", "opt/rb/share/man/man5/roombridge.json.5",
            "opt/rb/share/bash-completion/completions/roombridge", "opt/rb/share/zsh/site-functions/_roombridge",
            "opt/rb/share/doc/roombridge/config.schema.json",
            "opt/rb/share/doc/roombridge/examples/receiver/receiver.py",
            "etc/roombridge/config.example.json",
        ] {
            #expect(files.contains(file), "\(file)")
        }
        let unit = try String(
            contentsOfFile: folder.file("opt/rb/lib/systemd/system/roombridge.service"),
            encoding: .utf8
        )
        #expect(unit.contains("ExecStart=/opt/rb/bin/roombridge run --config /etc/roombridge/config.json\n"))
        let credentials = try FileManager.default.attributesOfItem(atPath: folder.file("etc/roombridge/credentials"))
        #expect(credentials[.posixPermissions] as? Int == 0o700)

        _ = try folder.write("{}", to: "etc/roombridge/config.json")
        let removed = try await Self.make("uninstall", folder)
        #expect(removed.isDone, "\(removed.output)")
        #expect(Self.files(folder) == ["etc/roombridge/config.json"])
        #expect(FileManager.default.fileExists(atPath: folder.file("etc/roombridge/credentials")))
    }
}
