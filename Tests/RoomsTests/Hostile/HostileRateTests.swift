import BridgeTestSupport
import RoomsRuntime
import RoomsTransport
import RoomsWire
import Testing

@testable import Rooms

/// However a server treats its client, it is not asked in a hot loop.
@Suite(.timeLimit(.minutes(2))) struct HostileRateTests {
    enum Treatment: String, CaseIterable, Sendable {
        case hangsUp, refuses, redirects, closes, closesOverloaded, disconnects, eventThenOverload, badAnswer,
            unsubscribes
        case hole, expiredToken, shortLife, fullRoom, epochs, wentBack
    }

    /// What it does on each connection; counts what the client asks.
    private static func play(_ treatment: Treatment, _ attacker: Attacker, _ commands: Lock<Int>) {
        func push(_ body: PushBody) { attacker.say(Reply(id: 0, .push(Push(channel: "r", body)))) }
        var round: UInt64 = 0
        attacker.serve { request in
            commands.withLock { $0 += 1 }
            round += 1
            switch (request, treatment) {
            case (.connect, .hangsUp):
                attacker.connection.shutdown()
                return nil
            case (.connect, .closes):
                attacker.sayFrame([0x0b, 0xb9], opcode: 8)
                return nil
            case (.connect, .closesOverloaded):
                attacker.sayFrame([0x0b, 0xc0], opcode: 8)
                return nil
            case (.connect, .expiredToken): return .error(ErrorReply(code: 109, message: "token expired"))
            case (.connect, .shortLife): return .connect(.expiring(1))
            case (.refresh, .shortLife):
                var result = RefreshResult()
                result.expires = true
                result.ttl = 1
                return .refresh(result)
            case (.subscribe, .disconnects):
                push(.disconnect(code: 3001, reason: "", reconnect: true))
                return nil
            case (.subscribe, .eventThenOverload):
                attacker.say(Reply(id: 2, .subscribe(.empty(at: 0))), .event(1))
                attacker.sayFrame([0x0b, 0xc0], opcode: 8)
                return nil
            case (.subscribe, .badAnswer): return .publish
            case (.subscribe, .fullRoom): return .error(ErrorReply(code: 100, message: "later", isTemporary: true))
            case (.subscribe(let request), _):
                var result = SubscribeResult.empty(at: treatment == .wentBack ? 1_000_000 - round : 0)
                if treatment == .epochs { result.epoch = ByteString("E\(round)") }
                attacker.say(Reply(id: UInt32(round), .subscribe(result)))
                switch treatment {
                case .unsubscribes: push(.unsubscribe(code: 2500, reason: ""))
                case .hole, .wentBack: attacker.say(.event(request.offset + 1_000_000))
                case .epochs: attacker.say(.event(9, epoch: "other"))
                default: break
                }
                return nil
            default: return Attacker.honest(request)
            }
        }
    }

    /// A server that treats its clients so, and one client of it.
    private struct Case {
        let treatment: Treatment
        let commands = Lock(0)
        let server: RawServer
        let client: WatchedConnection

        init(_ treatment: Treatment) throws {
            let commands = commands
            self.treatment = treatment
            switch treatment {
            case .refuses, .redirects:
                server = try RawServer { connection in
                    _ = connection.readHead()
                    let status = treatment == .refuses ? "503 X" : "302 X\r\nLocation: /"
                    connection.write("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n")
                }
            default: server = try Attacker.server { play(treatment, $0, commands) }
            }
            client = try WatchedConnection(port: server.port) { options in
                options.policy.backoff = Backoff()
                options.policy.tokens = TokenSource(connection: { Secret("t") }, subscription: { _ in nil })
            }
        }
    }

    @Test("With the usual pauses a client asks little of a server that mistreats it")
    func rate() async throws {
        let cases = try Treatment.allCases.map(Case.init)
        let end = SystemClock.now + .seconds(3)
        try await eventually("three seconds") { SystemClock.now >= end }
        for one in cases {
            let (connections, commands) = (one.server.connections, one.commands.withLock { $0 })
            // The least pause is half a second; a tenth behind a connection that brought something and was too much.
            let isQuick = one.treatment == .eventThenOverload
            #expect(connections <= (isQuick ? 31 : 7), "\(one.treatment): \(connections) connections")
            #expect(commands <= (isQuick ? 93 : 40), "\(one.treatment): \(commands) commands")
            #expect(commands > 0 || [.refuses, .redirects].contains(one.treatment), "\(one.treatment)")
            #expect(one.client.log.count <= 60, "\(one.treatment): \(one.client.log.count) lines")
            #expect(one.client.seen.faults == [], "\(one.treatment)")
        }
    }
}
