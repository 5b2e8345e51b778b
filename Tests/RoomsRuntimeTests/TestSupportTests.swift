import BridgeTestSupport
import Glibc
import RoomsRuntime
import Testing

@Suite struct TestSupportTests {
    @Test("A child's output and status are seen, and it is reaped at once")
    func exitStatus() async throws {
        let child = try ChildProcess("sh", ["-c", "echo out; echo err >&2; exit 3"])
        #expect(try await child.wait() == .status(3))
        #expect(child.output == "out\nerr\n")
    }

    @Test("What a child leaves in its session ends with it")
    func strays() async throws {
        let start = SystemClock.now
        let child = try ChildProcess("sh", ["-c", "sleep 60 & echo $!"])
        #expect(try await child.wait() == .status(0))
        #expect(SystemClock.now - start < .seconds(10))
        let stray = try #require(Int32(child.output.dropLast()))
        try await eventually("the end of the stray") { kill(stray, 0) != 0 }
    }

    @Test("A line is awaited, and a child that ends without it is an error")
    func lines() async throws {
        let child = try ChildProcess("sh", ["-c", "echo first; echo ready on 80; exec sleep 60"])
        #expect(try await child.line(containing: "ready") == "ready on 80")
        try await child.kill()
        #expect(child.exit == .signal(9))
        let silent = try ChildProcess("true")
        await #expect(throws: ChildProcess.Failure.self) { try await silent.line(containing: "ready") }
    }

    @Test("A program that is not there is an error, not a hang")
    func noProgram() {
        #expect(throws: ChildProcess.Failure.self) { try ChildProcess("no-such-program-here") }
    }

    @Test("A temporary folder is gone with its object")
    func folder() throws {
        var directory: TemporaryDirectory? = try TemporaryDirectory()
        let path = try #require(try directory?.write("text", to: "file"))
        #expect(access(path, 0) == 0)
        directory = nil
        #expect(access(path, 0) != 0)
    }
}
