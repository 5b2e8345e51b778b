internal import BridgeTestSupport
internal import Foundation
internal import Testing

extension EndToEnd {
    /// What the bridge does when its disk fails: it goes on where it can, ends where it cannot, and loses nothing.
    @Suite(.timeLimit(.minutes(3))) struct StoreFaultTests {
        private static let room = "order:disk"

        /// What fails, and the number of the error.
        static let faults: [(call: String, number: Int32, file: String)] = [
            ("write", EIO, "store.db-wal"), ("sync", EIO, "store.db-wal"), ("write", EROFS, "store.db-wal"),
            ("write", EDQUOT, "store.db-wal"),
        ]

        private func scene(environment: [String: String] = [:]) async throws -> BufferScene {
            try await BufferScene(["a"], environment: environment) { setup, receivers in
                receivers["a"].map { setup.add(endpoint: "a", for: $0.address, rooms: [Self.room], from: "earliest") }
            }
        }

        private func faultLibrary(_ folder: TemporaryDirectory) async throws -> String {
            let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("faults.c")
            let library = folder.file("faults.so")
            let compiler = try ChildProcess("clang", ["-shared", "-fPIC", "-o", library, source.path])
            #expect(try await compiler.wait() == .status(0), "\(compiler.output)")
            return library
        }

        @Test(
            "an error of the disk ends it with 74, and the next start finds everything that was stored",
            arguments: faults
        )
        func broken(_ call: String, _ number: Int32, _ file: String) async throws {
            let folder = try TemporaryDirectory()
            let library = try await faultLibrary(folder)
            let scene = try await scene(environment: ["LD_PRELOAD": library, "FAULTS": folder.file("fault")])
            try await scene.bridge.start()
            try await scene.publish(Self.room, "1", "2", "3")
            try await scene.expect("a", Self.room, has: 1...3)
            try folder.write("\(call) \(number) \(file)", to: "fault")
            try await scene.publish(Self.room, "4", "5", "6")
            let exit = try await scene.bridge.child?.wait(within: .seconds(20))
            #expect(exit == .status(74), "\(scene.bridge.log)")
            let lines = scene.lines("the store cannot go on")
            #expect(lines.count == 1, "\(scene.bridge.log)")
            let reason = String(cString: strerror(number))
            #expect(lines.allSatisfy { $0.contains("store.db") && $0.contains(reason) }, "\(lines)")
            try FileManager.default.removeItem(atPath: folder.file("fault"))
            try await scene.bridge.start()
            try await scene.bridge.eventually("what was published") {
                try Set(scene.offsets("a", Self.room)).isSuperset(of: (1...6).map { "\($0)" })
            }
            // What was answered just before the end may come twice, nothing comes out of order.
            let offsets = try scene.offsets("a", Self.room).compactMap { Int($0) }
            var seen: Set<Int> = []
            #expect(offsets.filter { seen.insert($0).inserted } == Array(1...6), "\(offsets)")
            try await scene.close()
        }

        @Test func `a full disk takes nothing in, empties itself, and all goes on when there is space`() async throws {
            guard geteuid() == 0 else {
                FileHandle.standardError.write(Data("left out: a small disk needs root\n".utf8))
                return
            }
            let scene = try await scene()
            // A file system of its own that nobody else sees.
            let mount = "mount -t tmpfs -o size=64m,mode=0700 none '\(scene.bridge.stateDirectory)'"
            try await scene.bridge.start(
                through: "set -- unshare --mount --propagation private sh -c '\(mount) && exec \"$@\"' sh \"$@\"; "
            )
            let pid = try #require(scene.bridge.child?.pid)
            let state = "/proc/\(pid)/root\(scene.bridge.stateDirectory)"
            #expect(FileManager.default.fileExists(atPath: state + "/store.ballast"))
            try scene["a"].refuse()
            try await scene.publish(Self.room, (1...20).map { "\($0)" })
            try await scene.bridge.eventually("events in the store") {
                scene.lines("the endpoint is not well").count == 1
            }
            try fill(state + "/filler")
            try await scene.publish(Self.room, "21")
            try await scene.bridge.eventually("a full disk") { scene.lines("the disk is full").count == 1 }
            try await scene.publish(Self.room, (22...40).map { "\($0)" })
            // With the space that was kept for it events are settled, and the disk is as full as before.
            #expect(!FileManager.default.fileExists(atPath: state + "/store.ballast"))
            try fill(state + "/filler2")
            try scene["a"].listen()
            try await scene.expect("a", Self.room, has: 1...20)
            #expect(scene.lines("the disk has space again").isEmpty, "\(scene.bridge.log)")
            for name in ["/filler", "/filler2"] { try FileManager.default.removeItem(atPath: state + name) }
            try await scene.bridge.eventually("space") { scene.lines("the disk has space again").count == 1 }
            try await scene.expect("a", Self.room, has: 1...40)
            try await scene.publish(Self.room, "41")
            try await scene.expect("a", Self.room, has: 1...41)
            try await scene.bridge.eventually("the ballast") {
                FileManager.default.fileExists(atPath: state + "/store.ballast")
            }
            #expect(scene.lines("the disk is full").count == 1, "\(scene.bridge.log)")
            try await scene.close()
        }

        /// Takes all that is left.
        private func fill(_ path: String) throws {
            let file = open(path, O_WRONLY | O_CREAT, 0o600)
            try #require(file >= 0)
            defer { close(file) }
            for size in [1 << 20, 4_096, 1] {
                let bytes = [UInt8](repeating: 0x78, count: size)
                while write(file, bytes, size) == size {}
            }
        }
    }
}
