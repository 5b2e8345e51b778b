internal import BridgeTestSupport
internal import Foundation
internal import Glibc
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// The program from its start to its end.
    @Suite(.timeLimit(.minutes(1))) struct HubProgramProcessTests {
        @Test(arguments: [SIGTERM, SIGINT])
        func `a signal says 3001 to everybody and ends it with 0 within a second`(_ number: Int32) async throws {
            let hub = try await HubRun(#"{"rooms": [{"pattern": "all", "public": true}]}"#)
            let clients = HubClients(port: hub.port, count: 50) { _ in ["all"] }
            let silent = HubClients(port: hub.port, count: 1) { _ in ["all"] }
            try await clients.wait("the clients") { $0.joined == 2 }
            try await silent.wait("the silent one") { $0.joined == 2 }
            // Never answers the close.
            silent.pauseReading()
            let start = SystemClock.now
            hub.child.signal(number)
            let exit = try await hub.child.wait()
            let time = SystemClock.now - start
            #expect(exit == .status(0) && time < .seconds(2), "\(exit) after \(time): \(hub.child.output)")
            try await clients.wait("the closes") { $0.close != nil || $0.hasEnded }
            #expect(clients.all.allSatisfy { $0.close == 3_001 && $0.mistakes == 0 })
        }

        @Test func `it takes newcomers again once descriptors that had run out are free`() async throws {
            let port = try HeldPort()
            let child = try ChildProcess(
                "/bin/sh",
                ["-c", #"ulimit -n 64; exec "$0" --listen 127.0.0.1:\#(port.number)"#, Programs.hub],
                environment: Programs.quiet
            )
            try await TestHTTP.waitForAnswer(port: port.number, child)
            for round in 0..<3 {
                let sockets = (0..<120).map { _ in Self.connect(to: port.number) }
                // More than it may open: some wait to be accepted.
                try await eventually("all its descriptors in use, round \(round)") {
                    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child.pid)/fd").count >= 62
                }
                for socket in sockets { Self.reset(socket) }
                try await TestHTTP.waitForAnswer(port: port.number, child)
            }
            #expect(try await child.stop() == .status(0))
        }

        /// Whether it is taken or waits to be.
        private static func connect(to port: UInt16) -> Int32 {
            let address = SocketAddress.loopback(port: port)
            let descriptor = address.makeSocket()
            _ = address.connect(descriptor)
            return descriptor
        }

        private static func reset(_ descriptor: Int32) {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            close(descriptor)
        }

        @Test func `it starts with closed standard descriptors`() async throws {
            let port = try HeldPort()
            let child = try ChildProcess(
                "/bin/sh",
                ["-c", #"exec "$0" --listen 127.0.0.1:\#(port.number) <&- >&- 2>&-"#, Programs.hub],
                environment: Programs.quiet
            )
            try await TestHTTP.waitForAnswer(port: port.number, child)
            for descriptor in 0...2 {
                let path = "/proc/\(child.pid)/fd/\(descriptor)"
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "/dev/null")
            }
            #expect(try await child.stop() == .status(0))
        }

        @Test func `it raises the limit of open files as far as it may, and says when that is too little`() async throws
        {
            let child = try ChildProcess(
                "/bin/sh",
                ["-c", #"ulimit -Sn 70; ulimit -Hn 500; exec "$0" --listen 127.0.0.1:0"#, Programs.hub],
                environment: Programs.quiet
            )
            _ = try await child.line(containing: "listens on")
            let limits = try String(contentsOfFile: "/proc/\(child.pid)/limits", encoding: .utf8)
            let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") } ?? ""
            #expect(line.split(separator: " ").dropFirst(3).prefix(2) == ["500", "500"], "\(line)")
            #expect(try await child.stop() == .status(0))
            let poor = try ChildProcess(
                "/bin/sh",
                ["-c", #"ulimit -n 40; exec "$0" --listen 127.0.0.1:0"#, Programs.hub],
                environment: Programs.quiet
            )
            #expect(try await poor.wait() == .status(69))
            #expect(poor.output.contains("the limit of open files is 40, it must be at least 64"), "\(poor.output)")
        }

        @Test func `a port in use is named, and what to do`() async throws {
            let hub = try await HubRun("{}")
            let address = "127.0.0.1:\(hub.port)"
            let second = try ChildProcess(
                Programs.hub,
                ["--listen", "127.0.0.1:0", "--listen", address],
                environment: Programs.quiet
            )
            #expect(try await second.wait() == .status(69))
            #expect(
                second.output == "roomhub: \(address): another program listens there; stop it or choose another port, "
                    + "such as --listen 127.0.0.1:0 for any free one\n"
            )
        }

        @Test func `it says that it is not for production where other machines reach it`() async throws {
            let hub = try ChildProcess(Programs.hub, ["--listen", "0.0.0.0:0"], environment: Programs.quiet)
            let line = try await hub.line(containing: "listens on 0.0.0.0:")
            #expect(line.hasSuffix(", where other machines reach it: it is not for production"))
            _ = try await hub.line(containing: "everybody knows its usual API key and token secret")
            #expect(try await hub.stop() == .status(0))
        }
    }
}
