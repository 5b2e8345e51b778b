internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// `roombridge dead-letters` against the running service.
    @Suite(.timeLimit(.minutes(2))) struct DeadLetterCommandTests {
        private static let room = "order:1"

        /// A bridge whose endpoint `a` has refused the second of four events for good.
        private func scene() async throws -> BufferScene {
            let scene = try await BufferScene(["a"]) { setup, receivers in
                receivers["a"].map { setup.add(endpoint: "a", for: $0.address, rooms: [Self.room]) }
            }
            try scene["a"].behave(.refuse(offset: "2", 413))
            try await scene.bridge.start()
            try await scene.bridge.joined([Self.room])
            try await scene.publish(Self.room, "1", "{\"event\":\"sold\",\n \"data\":{\"n\":2}}", "3", "4")
            try await scene.bridge.eventually("all but one") { try scene["a"].acceptedCount == 3 }
            try await scene.bridge.eventually("the dead letter on disk") { try await lines(scene, "list").count == 2 }
            return scene
        }

        private func run(
            _ scene: BufferScene,
            _ arguments: String...,
            socket: String? = nil
        ) async throws -> (output: String, exit: ChildProcess.Exit) {
            let place = socket.map { ["--control", $0] } ?? ["--state-dir", scene.bridge.stateDirectory]
            let child = try ChildProcess(
                Programs.bridge,
                ["dead-letters"] + arguments + place,
                environment: Programs.quiet
            )
            let exit = try await child.wait()
            return (child.output, exit)
        }

        private func lines(_ scene: BufferScene, _ arguments: String...) async throws -> [String] {
            let place = ["--state-dir", scene.bridge.stateDirectory]
            let child = try ChildProcess(
                Programs.bridge,
                ["dead-letters"] + arguments + place,
                environment: Programs.quiet
            )
            #expect(try await child.wait() == .status(0), "\(child.output)")
            return child.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        }

        @Test func `they are listed, shown and exported, whole`() async throws {
            let scene = try await scene()
            let list = try await lines(scene, "list")
            #expect(list.count == 2 && list[0].hasPrefix("NUMBER  ENDPOINT"), "\(list)")
            let cells = list[1].split(separator: " ")
            #expect(cells.prefix(7) == ["1", "a", "order:1", "2", "too_large", "413", "1"], "\(list)")
            #expect(try await lines(scene, "list", "--room", "order:2").count == 1)

            let export = try await lines(scene, "export", "--endpoint", "a")
            #expect(export.count == 1)
            let letter = JSONSlice(export[0])
            #expect(letter["endpoint"]?.string == "a" && letter["server"]?.string == "main")
            #expect(letter["room"]?.string == "order:1" && letter["event"]?.string == "sold")
            #expect(letter["offset"]?.unsigned == 2 && letter["seq"]?.unsigned == 2)
            #expect(letter["reason"]?.string == "too_large" && letter["status"]?.unsigned == 413)
            #expect(letter["attempts"]?.unsigned == 1 && letter["first_at"]?.string == letter["last_at"]?.string)
            let refused = try #require(try scene["a"].requests.first { $0.status == 413 })
            #expect(letter["id"]?.string == refused["webhook-id"].map { ByteString($0) })
            #expect(letter["epoch"]?.string == refused["roombridge-epoch"].map { ByteString($0) })
            let body = JSONSlice(refused.message.body)
            #expect(letter["body"]?["id"]?.string == letter["id"]?.string)
            #expect(letter["body"]?["timestamp"]?.string == body["timestamp"]?.string)
            #expect(letter["body"]?["data"]?["data"]?.raw == Array(#"{"n":2}"#.utf8))

            let show = try await lines(scene, "show", "1")
            #expect(show.contains("reason: too_large") && show.contains("room: order:1"))
            #expect(show.last.map { JSONSlice($0)["type"]?.string } == "room.event")
            let missing = try await run(scene, "show", "7")
            #expect(missing.exit == .status(64) && missing.output.contains("there is no dead letter 7"))
            let unknown = try await run(scene, "list", "--endpoint", "b")
            #expect(unknown.exit == .status(64) && unknown.output.contains("there is no endpoint \"b\""))
            try await scene.close()
        }

        @Test func `retry sends one before what waits in its room, and it is gone when it is accepted`() async throws {
            let scene = try await scene()
            let receiver = try scene["a"]
            // Refused again: it stays.
            #expect(try await lines(scene, "retry", "1") == ["1 dead letter is sent again"])
            try await scene.bridge.eventually("another attempt") { receiver.requests.count { $0.status == 413 } == 2 }
            try await scene.publish(Self.room, "5")
            try await scene.bridge.eventually("it is dead again, after two attempts in all") {
                try await lines(scene, "list").last?.split(separator: " ").prefix(7).last == "2"
            }

            receiver.behave(.answer(503))
            try await scene.publish(Self.room, "6")
            try await scene.bridge.eventually("the sixth waits") { receiver.requests.last?.status == 503 }
            #expect(try await lines(scene, "retry", "--all") == ["1 dead letter is sent again"])
            // It is known after a restart.
            #expect(try await scene.bridge.terminate() == .status(0))
            receiver.behave(.answer(200))
            try await scene.bridge.start()
            try await scene.expectEnd(receiver, "6")
            let accepted = receiver.requests.filter { $0.status == 200 }
            #expect(accepted.map { $0["roombridge-offset"] } == ["1", "3", "4", "5", "2", "6"])
            #expect(accepted.suffix(2).map { $0["roombridge-prev-seq"] } == ["5", "5"])
            #expect(accepted.allSatisfy { $0["roombridge-replay"] == nil })
            try await scene.bridge.eventually("it is gone") { try await lines(scene, "list").count == 1 }
            try await scene.close()
        }

        @Test func `out of order it is marked, and nothing waits for it`() async throws {
            let scene = try await scene()
            let receiver = try scene["a"]
            receiver.behave(.refuse(offset: "2", 500))
            let said = try await lines(scene, "retry", "--endpoint", "a", "--out-of-order")
            #expect(said.count == 1 && said[0].hasPrefix("1 dead letter is sent again, marked with"), "\(said)")
            let run = said[0].split(separator: " ").last.map(String.init)
            try await scene.bridge.eventually("an attempt") { receiver.requests.contains { $0.status == 500 } }
            try await scene.publish(Self.room, "5")
            try await scene.expectEnd(receiver, "5")
            receiver.behave(.answer(200))
            try await scene.expectEnd(receiver, "2")
            let last = receiver.requests.last
            #expect(last?["roombridge-replay"] == run && last?["roombridge-seq"] == "2")
            let marked = receiver.requests.filter { $0["roombridge-replay"] != nil }
            let again = receiver.requests.filter { $0["roombridge-offset"] == "2" && $0.status != 413 }
            #expect(marked.count == again.count && marked.allSatisfy { $0["roombridge-offset"] == "2" })
            try await scene.close()
        }

        @Test func `purge removes them, and insists on being told which`() async throws {
            let scene = try await scene()
            #expect(try await run(scene, "purge").exit == .status(64))
            #expect(try await lines(scene, "purge", "1") == ["1 dead letter is removed"])
            #expect(try await lines(scene, "purge", "--all") == ["0 dead letters are removed"])
            #expect(try await lines(scene, "list").count == 1)
            try await scene.close()
        }

        @Test func `without the service it says so, and the socket is this user's and the group's`() async throws {
            let scene = try await scene()
            let socket = scene.bridge.stateDirectory + "/control.sock"
            let mode = try FileManager.default.attributesOfItem(atPath: socket)[.posixPermissions] as? Int
            #expect(mode == 0o660)
            _ = try await scene.bridge.kill()
            let dead = try await run(scene, "list")
            #expect(dead.exit == .status(69), "\(dead.output)")
            #expect(dead.output.contains("the service is not running: nothing listens at \(socket)"), "\(dead.output)")
            // What a killed process leaves is no obstacle.
            try await scene.bridge.start()
            #expect(try await lines(scene, "list").count == 2)
            #expect(try await scene.bridge.terminate() == .status(0))
            #expect(!FileManager.default.fileExists(atPath: socket))
            #expect(try await run(scene, "list").exit == .status(69))
            try await scene.hub.stop()
        }

        @Test func `a request that is not understood changes nothing, and says what would be right`() async throws {
            let scene = try await scene()
            let socket = SocketAddress.unix(path: scene.bridge.stateDirectory + "/control.sock")
            for (path, body, status) in [
                ("/v1/nothing", "{}", 404), ("/v1/dead-letters", "{}", 405), ("/v1/dead-letters/purge", "{}", 400),
                ("/v1/dead-letters/purge", #"{"nubmers":[1]}"#, 400),
                ("/v1/dead-letters/purge", #"{"numbers":[]}"#, 400),
                ("/v1/dead-letters/purge", #"{"all":true,"endpoint":"a"}"#, 400),
                ("/v1/dead-letters/purge", #"{"numbers":["1"]}"#, 400), ("/v1/dead-letters/purge", "", 400),
                ("/v1/dead-letters/retry", #"{"all":true,"order":"any"}"#, 400),
                ("/v1/dead-letters/retry", #"{"endpoint":"b"}"#, 404),
            ] {
                let answer = try await TestHTTP.post(socket, path, body)
                #expect(answer?.status == status, "\(path) \(body)")
                #expect(answer.flatMap { JSONSlice($0.body)["error"]?.string }?.isEmpty == false, "\(path) \(body)")
            }
            #expect(try await lines(scene, "list").count == 2)
            #expect(try await lines(scene, "purge", "--endpoint", "a", "--room", "order:1").count == 1)
            let line = try #require(scene.lines("an operator removed dead letters").first)
            #expect(line.contains("count=1") && line.contains("endpoint=a") && line.contains("room=order:1"), "\(line)")
            try await scene.close()
        }

        @Test func `a socket that cannot be made ends the start only where it was asked for`() async throws {
            let scene = try await BufferScene(["a"]) { setup, receivers in
                receivers["a"].map { setup.add(endpoint: "a", for: $0.address, rooms: [Self.room]) }
            }
            let bad = scene.bridge.folder.file("nowhere/control.sock")
            let asked = try scene.bridge.launch(through: "set -- \"$@\" --control '\(bad)'; ")
            #expect(try await asked.wait() == .status(73), "\(asked.output)")
            #expect(asked.output.contains(bad), "\(asked.output)")
            // A file of somebody else's in its place.
            try scene.bridge.folder.write("x", to: "state/control.sock")
            try await scene.bridge.start()
            #expect(scene.lines("commands cannot reach this service").count == 1, "\(scene.bridge.log)")
            try await scene.close()
            let kept = scene.bridge.stateDirectory + "/control.sock"
            #expect(FileManager.default.fileExists(atPath: kept))
            try FileManager.default.removeItem(atPath: kept)
            let elsewhere = scene.bridge.folder.file("c.sock")
            try await scene.bridge.start(through: "set -- \"$@\" --control '\(elsewhere)'; ")
            #expect(try await run(scene, "list", socket: elsewhere).exit == .status(0))
            #expect(try await scene.bridge.terminate() == .status(0))
        }

        @Test func `the service manager's socket goes before all`() async throws {
            let scene = try await BufferScene(["a"]) { setup, receivers in
                receivers["a"].map { setup.add(endpoint: "a", for: $0.address, rooms: [Self.room]) }
            }
            let socket = scene.bridge.folder.file("passed.sock")
            let script =
                "import os,socket,sys; s=socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); "
                + "os.dup2(s.fileno(),3); os.set_inheritable(3,True); "
                + "os.environ.update(LISTEN_PID=str(os.getpid()),LISTEN_FDS='1'); os.execv(sys.argv[2],sys.argv[2:])"
            let python = try Programs.python()
            try await scene.bridge.start(through: "exec '\(python)' -c \"\(script)\" '\(socket)' \"$@\"; ")
            let list = try await run(scene, "list", socket: socket)
            #expect(list.exit == .status(0) && list.output.hasPrefix("NUMBER"), "\(list.output) \(scene.bridge.log)")
            #expect(!FileManager.default.fileExists(atPath: scene.bridge.stateDirectory + "/control.sock"))
            try await scene.close()
            #expect(FileManager.default.fileExists(atPath: socket))
        }
    }
}

extension BufferScene {
    /// The event of that offset is the last that was accepted.
    fileprivate func expectEnd(_ receiver: RecordingReceiver, _ offset: String) async throws {
        try await bridge.eventually(within: .seconds(20), "\(offset) at the end") {
            receiver.requests.last { $0.status == 200 }?["roombridge-offset"] == offset
        }
    }
}
