internal import BridgeTestSupport
internal import Foundation
internal import Testing

extension EndToEnd {
    /// A program outside this package can use the library, as docs/LIBRARY.md says.
    @Suite struct OutsidePackageTests {
        @Test(.timeLimit(.minutes(5)))
        func `a package that depends on this one builds without a warning, and its app runs`() async throws {
            let hub = try await HubRun(
                """
                {
                  "rooms": [
                    { "pattern": "order:{id}", "history": 20 },
                    { "pattern": "chat:{a}:{b}", "history": 20, "presence": true,
                      "members_may": ["history", "presence", "publish"] },
                    { "pattern": "shop", "public": true, "history": 20 }
                  ],
                  "auth": { "users": { "alice": { "rooms": ["order:{id}", "chat:{user}:{x}"] } } }
                }
                """
            )
            let package = try OutsidePackage(port: hub.port)
            let build = try await package.build()
            #expect(!build.output.contains("warning:"), "\(build.output)")

            let app = try package.run()
            try await eventually(within: .seconds(60), "the end of the app") {
                // What the page's sequence waits for.
                try await hub.publish(#"{"event":"updated","data":{"status":"delivered"}}"#, to: ["order:1042"])
                return app.exit != nil
            }
            #expect(app.exit == .status(0), "\(app.output)")
            for line in [
                "joined false", "said hello [1.0, 2.5, 100.0] alice", "said bye [] alice", "skipped 1 of 3",
                #"exact {"z":0.10,"a":9223372036854775807}"#, "closed left left",
            ] {
                #expect(app.output.contains(line + "\n"), "\(line) in \(app.output)")
            }
            for number in try OutsidePackage.snippets().dropFirst().indices.map({ $0 - 1 }) {
                #expect(app.output.contains("snippet \(number) is done\n"), "\(app.output)")
            }
        }

        @Test func `the package can be depended on by a version: it has no unsafe flags`() throws {
            let manifest = try String(contentsOfFile: Programs.root + "/Package.swift", encoding: .utf8)
            #expect(!manifest.contains("unsafeFlags"))
        }
    }
}
