internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// What the hub does for many, and what it takes for that.
    @Suite(.timeLimit(.minutes(1))) struct HubLoadTests {
        init() {
            _ = ProcessSettings.raiseOpenFiles()
        }

        @Test func `a thousand connections in ten thousand rooms hear everything once and in order`() async throws {
            let hub = try await HubRun(
                """
                {"rooms": [
                  {"pattern": "own:{id}", "public": true, "history": 2, "presence": true, "join_leave": "never"},
                  {"pattern": "all", "public": true, "history": 10, "presence": true, "join_leave": "never"}]}
                """
            )
            let threads = hub.threadCount
            let clients = HubClients(port: hub.port, count: 1_000) { client in
                ["all"] + (0..<10).map { ByteString("own:\(client * 10 + $0)") }
            }
            try await clients.wait("everybody in all their rooms") { $0.joined == 12 }
            // One loop for all sockets, no thread for any.
            let most = Sanitizer.isLoaded ? 4 : 3
            #expect(hub.threadCount == threads && threads <= most, "\(threads), then \(hub.threadCount)")
            #expect(try await hub.clientCount() == 1_000)
            let stats = try await hub.api("presence_stats", #"{"channel":"all"}"#)
            #expect(stats.contains(#""num_clients":1000"#), "\(stats)")
            for start in stride(from: 0, to: 10_000, by: 1_000) {
                try await hub.publish(#"{"n":1}"#, to: (start..<(start + 1_000)).map { "own:\($0)" } + ["all"])
            }
            try await clients.wait("20 publications at each") { $0.publications == 20 }
            let wrong = clients.all.filter { $0.mistakes > 0 || $0.close != nil || $0.offsets["all"] != 10 }
            #expect(wrong.isEmpty, "\(wrong.count) of them: \(wrong.first.map { "\($0)" } ?? "")")
            if !Sanitizer.isLoaded { #expect(hub.memory < 150, "\(hub.memory) MB") }
            clients.close()
            try await eventually("the end of all connections") { try await hub.clientCount() == 0 }
        }

        @Test func `slow ones are closed with 3008, the others lose nothing, and memory comes back`() async throws {
            let hub = try await HubRun(#"{"rooms": [{"pattern": "all", "public": true, "history": 10}]}"#)
            let before = hub.memory
            let slow = HubClients(port: hub.port, count: 20, receiveBuffer: 4_096) { _ in ["all"] }
            let quick = HubClients(port: hub.port, count: 5) { _ in ["all"] }
            try await slow.wait("the slow ones") { $0.joined == 2 }
            try await quick.wait("the quick ones") { $0.joined == 2 }
            slow.pauseReading()
            let data = "\"" + String(repeating: "x", count: 20_000) + "\""
            var (published, most) = (0, 0.0)
            while try await hub.clientCount() > 5, published < 1_000 {
                try await hub.publish(data, to: Array(repeating: "all", count: 10))
                published += 10
                let wanted = published
                try await quick.wait("all at the quick ones") { $0.publications == wanted }
                most = max(most, hub.memory)
            }
            #expect(published < 1_000, "nobody was slow")
            // For each what may wait, and as much again where it is copied to the socket.
            if !Sanitizer.isLoaded { #expect(most - before < 20 * 3, "\(before) MB before, \(most) MB at most") }
            slow.resumeReading()
            try await slow.wait("the end of the slow ones") { $0.close != nil || $0.hasEnded }
            #expect(slow.all.allSatisfy { $0.close == 3_008 && $0.mistakes == 0 && $0.publications < published })
            #expect(quick.all.allSatisfy { $0.close == nil && $0.mistakes == 0 })
            try await hub.publish("1", to: ["all"])
            let wanted = published + 1
            try await quick.wait("one more") { $0.publications == wanted }
            slow.close()
            guard !Sanitizer.isLoaded else { return }
            try await eventually("the memory of the slow ones") { hub.memory < before + 12 }
        }

        @Test func `one request of ten thousand publications reaches everybody who reads`() async throws {
            let hub = try await HubRun(#"{"rooms": [{"pattern": "all", "public": true, "history": 10}]}"#)
            let clients = HubClients(port: hub.port, count: 3) { _ in ["all"] }
            try await clients.wait("the clients") { $0.joined == 2 }
            let data = "\"" + String(repeating: "x", count: 300) + "\""
            try await hub.publish(data, to: Array(repeating: "all", count: 10_000))
            try await clients.wait("all of it") { $0.publications == 10_000 || $0.close != nil }
            #expect(clients.all.allSatisfy { $0.close == nil && $0.mistakes == 0 }, "\(clients.all)")
        }

        @Test(.enabled(if: !Sanitizer.isLoaded, "an instrumented heap is not the hub's own"))
        func `memory is what the history may hold, and comes back when its time is over`() async throws {
            let hub = try await HubRun(
                """
                {"rooms": [{"pattern": "long:{id}", "history": 10}, {"pattern": "brief:{id}", "history": 10, "keep": "1s"}]}
                """
            )
            let before = hub.memory
            let data = "\"" + String(repeating: "x", count: 8_000) + "\""
            func fill(_ patterns: String...) async throws {
                for _ in 0..<10 {
                    try await hub.publish(data, to: (0..<400).flatMap { room in patterns.map { "\($0):\(room)" } })
                }
            }
            // 400 rooms of 10 publications of 8 kB: 32 MB.
            try await fill("long")
            let full = hub.memory
            #expect(full - before > 28, "\(before) MB, then \(full) MB: nothing is kept")
            try await fill("long")
            #expect(hub.memory - full < 12, "\(full) MB, then \(hub.memory) MB: more is kept than the history")
            // Side by side in the heap, so that what is freed lies between what stays.
            try await fill("brief", "long")
            try await eventually("the memory of the rooms whose time is over") { hub.memory - full < 12 }
            let answer = try await hub.api("history", #"{"channel":"brief:7","limit":10}"#)
            #expect(answer.contains(#""publications":[]"#) && answer.contains(#""offset":10"#), "\(answer)")
        }
    }
}
