internal import BridgeTestSupport
internal import Foundation
internal import Testing

/// The units: how much the service is shut in, and that the template says what the single one does.
@Suite(.timeLimit(.minutes(1))) struct UnitFileTests {
    @Test(arguments: ["roombridge.service", "roombridge@.service"])
    func `the sandbox leaves at most 1.1`(_ unit: String) async throws {
        guard try RequiredProgram.systemd.find() != nil else { return }
        let verdict = try await Tool.run(
            "systemd-analyze",
            ["security", "--offline=true", "--threshold=11", "--no-pager", "deploy/\(unit)"]
        )
        #expect(verdict.isDone, "\(verdict.output)")
    }

    @Test(arguments: ["service", "socket"])
    func `an instance differs in its names alone`(_ kind: String) throws {
        func lines(_ name: String) throws -> [String] {
            try String(contentsOfFile: "\(Programs.root)/deploy/\(name).\(kind)", encoding: .utf8)
                .components(separatedBy: "\n")
        }
        let single = try lines("roombridge")
        let instance = try lines("roombridge@")
        #expect(single.count == instance.count)
        for (one, other) in zip(single, instance) where one != other {
            #expect(other.contains("%i") || other == "Also=roombridge@.socket", "\(one) became \(other)")
        }
    }

    @Test func `the unit stops trying where trying changes nothing`() throws {
        let unit = try String(contentsOfFile: "\(Programs.root)/deploy/roombridge.service", encoding: .utf8)
        for line in [
            "Type=notify", "ExecReload=/bin/kill -HUP $MAINPID", "Restart=always", "RestartPreventExitStatus=64 69 78",
            "StartLimitIntervalSec=0", "LoadCredential=secret:/etc/roombridge/credentials", "WatchdogSec=30s",
            "Wants=roombridge.socket", "LimitCORE=0", "DynamicUser=yes",
        ] {
            #expect(unit.contains("\n\(line)\n"), "\(line)")
        }
        // It takes the folder of the control socket away from the socket unit.
        #expect(!unit.contains("RuntimeDirectory="))
    }
}
