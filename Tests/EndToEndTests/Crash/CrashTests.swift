internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// kill -9 under load, 50 times in all, at moments at which a delivery is in flight: nothing lost, nothing out of order.
    @Suite(.timeLimit(.minutes(4))) struct CrashTests {
        @Test("C45 and C47: fifty kills under load lose nothing, store nothing twice and keep the order")
        func kills() async throws {
            let seed = Self.seed()
            FileHandle.standardError.write(Data("crash test: seed \(seed) (RB_SEED repeats it)\n".utf8))
            var total = RunReport()
            var kills = 0
            for (index, (server, plan)) in try await Self.runs().enumerated() {
                let run = try CrashRun(plan, on: server, seed: seed &+ UInt64(index))
                let report = try await run.run()
                FileHandle.standardError.write(Data("crash test on \(server): \(plan.kills) kills, \(report)\n".utf8))
                #expect(report.faults.isEmpty, "seed \(seed), \(server): \(report)\n\(run.bridgeLog)")
                #expect(
                    report.declared * 20 < report.published,
                    "seed \(seed), \(server): the gaps could hide anything"
                )
                total.published += report.published
                kills += plan.kills
            }
            #expect(kills >= 50)
            #expect(total.published >= 20_000, "too little was published to call it load")
        }

        @Test
        func `what was answered a quarter of a second before a kill is not repeated, though nothing else happened`()
            async throws
        {
            let scene = try await KilledScene(ScriptedServer(.honest))
            let (server, receiver, bridge) = (scene.server, scene.receiver, scene.bridge)
            try await bridge.start()
            server.publish(Array("4".utf8), to: "shop")
            try await bridge.eventually("the fourth event") { receiver.acceptedCount == 4 }
            #expect(receiver.requests.map { $0["roombridge-offset"] } == ["1", "2", "3", "4"])
        }

        /// Half of the kills on the real server, where it is installed: half of those with its streams in Redis, where even
        /// its own restart may lose nothing.
        private static func runs() async throws -> [(any RealtimeServer, CrashRun.Plan)] {
            let hub = CrashRun.Plan(
                kills: 25,
                eventsPerKill: 330,
                serverRestarts: [7, 16],
                outages: [3, 6, 10, 15, 19, 22],
                absences: [13]
            )
            var runs: [(any RealtimeServer, CrashRun.Plan)] = [(try HubProcess(), hub)]
            if let real = try CentrifugoProcess() {
                runs.append(
                    (
                        real,
                        CrashRun.Plan(
                            kills: 13,
                            eventsPerKill: 330,
                            serverRestarts: [4, 9],
                            outages: [2, 6, 10],
                            absences: [11]
                        )
                    )
                )
            }
            if let redis = try RedisProcess(), let real = try CentrifugoProcess(redis: redis) {
                try await redis.start()
                runs.append(
                    (
                        real,
                        CrashRun.Plan(
                            kills: 12,
                            eventsPerKill: 330,
                            serverRestarts: [3, 6, 9],
                            outages: [1, 7, 10],
                            absences: [5]
                        )
                    )
                )
            }
            let missing = 50 - runs.reduce(0) { $0 + $1.1.kills }
            if missing > 0 {
                let more = CrashRun.Plan(
                    kills: missing,
                    eventsPerKill: 360,
                    serverRestarts: [5],
                    outages: [2, 4, 8],
                    absences: [10]
                )
                runs.append((try HubProcess(), more))
            }
            return runs
        }

        private static func seed() -> UInt64 {
            ProcessInfo.processInfo.environment["RB_SEED"].flatMap { UInt64($0) }
                ?? UInt64.random(in: 1...1_000_000_000)
        }
    }
}
