import BridgeTestSupport
import Foundation
import Glibc
import RoomsRuntime
import Testing

@Suite(.timeLimit(.minutes(1))) struct PathWatchTests {
    /// A watch on a loop of its own, and how often it told.
    private final class Rig: Sendable {
        let loop = EventLoop(name: "test")
        let count = Lock(0)
        // Safety: touched on the loop alone.
        private nonisolated(unsafe) var watch: PathWatch?

        init(_ path: String, tellsOfContent: Bool = false) async {
            loop.start()
            let count = count
            await withCheckedContinuation { continuation in
                loop.post { [self] in
                    watch = PathWatch(ByteString(path), on: loop, tellsOfContent: tellsOfContent) {
                        count.withLock { $0 += 1 }
                    }
                    continuation.resume()
                }
            }
        }

        func told(_ what: String, moreThan before: Int = 0) async throws {
            try await eventually(what) { count.withLock { $0 } > before }
        }

        func stop() async {
            await withCheckedContinuation { continuation in
                loop.post { [self] in
                    watch?.cancel()
                    watch = nil
                    continuation.resume()
                }
            }
            loop.stop()
            loop.join()
        }
    }

    private func make(_ path: String) {
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
    }

    @Test("a file that appears is told of, and another one beside it is not")
    func appears() async throws {
        let folder = try TemporaryDirectory()
        let rig = await Rig(folder.file("wanted"))
        make(folder.file("other"))
        // An event behind it in the same directory: when it is told, the first was not.
        make(folder.file("wanted"))
        try await rig.told("the file")
        #expect(rig.count.withLock { $0 } == 1)
        await rig.stop()
    }

    @Test("what is written into a file that is there is told of when asked for")
    func content() async throws {
        let folder = try TemporaryDirectory()
        make(folder.file("wanted"))
        let rig = await Rig(folder.file("wanted"), tellsOfContent: true)
        let before = rig.count.withLock { $0 }
        let handle = try #require(FileHandle(forWritingAtPath: folder.file("wanted")))
        try handle.write(contentsOf: Data("x".utf8))
        try handle.close()
        try await rig.told("the content", moreThan: before)
        await rig.stop()
    }

    @Test("one that is there already is told of at once, and a change of its rights too")
    func isThere() async throws {
        let folder = try TemporaryDirectory()
        make(folder.file("wanted"))
        let rig = await Rig(folder.file("wanted"))
        #expect(rig.count.withLock { $0 } == 1)
        chmod(folder.file("wanted"), 0o600)
        try await rig.told("the change", moreThan: 1)
        await rig.stop()
    }

    @Test("its directories may come later, one by one or all at once, and go again", arguments: [true, false])
    func deep(atOnce: Bool) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("a/b/c/wanted")
        let rig = await Rig(path)
        for round in 0..<2 {
            let before = rig.count.withLock { $0 }
            if atOnce {
                let built = folder.file("built")
                try FileManager.default.createDirectory(atPath: built + "/b/c", withIntermediateDirectories: true)
                make(built + "/b/c/wanted")
                rename(built, folder.file("a"))
            } else {
                for part in ["a", "a/b", "a/b/c"] { mkdir(folder.file(part), 0o700) }
                make(path)
            }
            try await rig.told("round \(round)", moreThan: before)
            try FileManager.default.removeItem(atPath: folder.file("a"))
        }
        await rig.stop()
    }

    @Test("a file moved into place is told of")
    func moved() async throws {
        let folder = try TemporaryDirectory()
        let rig = await Rig(folder.file("wanted"))
        make(folder.file("new"))
        rename(folder.file("new"), folder.file("wanted"))
        try await rig.told("the file")
        await rig.stop()
    }
}
