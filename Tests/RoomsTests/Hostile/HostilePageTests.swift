import BridgeTestSupport
import RoomsRuntime
import RoomsWire
import Testing

@testable import Rooms

/// What an app gets of history and members when the server makes them up.
@Suite(.timeLimit(.minutes(2))) struct HostilePageTests {
    private func client(_ answer: @escaping @Sendable (Request) -> ReplyBody?) throws -> (RawServer, Realtime) {
        let server = try Attacker.server { attacker in
            attacker.serve { request in answer(request) ?? Attacker.honest(request) }
        }
        return (server, try Realtime(url: "ws://127.0.0.1:\(server.port)/"))
    }

    private static func page(_ offsets: some Sequence<UInt64>, epoch: ByteString = "A") -> ReplyBody {
        var result = HistoryResult()
        result.epoch = epoch
        result.offset = 1_000
        result.publications = offsets.map { Publication(data: Payload("1"), offset: $0) }
        return .history(result)
    }

    /// The ids of the pages that an app gets that pages back as long as there is more.
    private func pageBack(_ room: Room, limit: Int = 10, most: Int = 200) async throws -> [[String]] {
        var pages: [[String]] = []
        var before: String?
        repeat {
            let page = try await room.history(before: before, limit: limit)
            pages.append(page.events.map(\.meta.id))
            before = page.events.first?.meta.id
            guard page.more else { return pages }
        } while pages.count < most
        Issue.record("paging back does not end")
        return pages
    }

    @Test("Pages of more than was asked for are cut")
    func large() async throws {
        let (server, rt) = try client { request in
            if case .history(let request) = request {
                Self.page((1..<(request.since?.offset ?? 1_001)).reversed())
            } else {
                nil
            }
        }
        let room = rt.join("r")
        let pages = try await pageBack(room, limit: 100)
        #expect(pages.count == 10 && pages.allSatisfy { $0.count == 100 })
        #expect(pages.reversed().flatMap { $0 } == (1...1_000).map { "A:\($0)" })
        #expect(server.connections == 1)
        await rt.close()
    }

    @Test(
        "Pages in the wrong order, of the same events again and again, empty or of another stream let paging back end",
        arguments: ["unsorted", "same", "upwards", "empty", "other stream", "zeros"]
    )
    func odd(_ kind: String) async throws {
        let (server, rt) = try client { request in
            guard case .history(let request) = request else { return nil }
            let since = request.since?.offset ?? 1_001
            return switch kind {
            case "unsorted": Self.page([990, 995, 980, 985, 970, 970, 999, 960])
            case "same": Self.page((900...999).reversed())
            case "upwards": Self.page(since...(since + 100))
            case "empty": Self.page([])
            case "other stream": Self.page((1..<since).reversed(), epoch: since == 1_001 ? "A" : "B")
            default: Self.page([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
            }
        }
        let pages = try await pageBack(rt.join("r"))
        let offsets = pages.reversed().flatMap { $0 }.compactMap { UInt64($0.dropFirst(2)) }
        #expect(offsets == Array(Set(offsets)).sorted(), "\(offsets)")
        #expect(server.connections == 1)
        await rt.close()
    }

    @Test("A million members in one answer are not all kept, and the room stays joined")
    func manyMembers() async throws {
        let answer: [UInt8] = {
            // Written once, entry by entry: a million of them as values would be the attack itself.
            var entries: [UInt8] = []
            for number in 0..<1_000_000 {
                let client = (0..<4).map { UInt8(0x30 + (number >> (5 * $0)) & 31) }
                entries += [0x0a, 8, 0x12, 6, 0x12, 4] + client
            }
            return entries
        }()
        let memory = MemoryWatch()
        let server = try Attacker.server { attacker in
            while let command = attacker.command() {
                guard case .presence = command.request else {
                    attacker.say(Reply(id: command.id, Attacker.honest(command.request)))
                    continue
                }
                var reply: [UInt8] = [0x08, UInt8(command.id), 0x4a]
                reply += Self.varint(answer.count) + answer
                attacker.sayFrame(Self.varint(reply.count) + reply)
            }
        }
        let rt = try Realtime(url: "ws://127.0.0.1:\(server.port)/")
        let room = rt.join("r")
        try await eventually(within: .seconds(60), "members") { room.count > 0 }
        #expect((1_000...20_000).contains(room.count), "\(room.count) members")
        #expect(room.state == .joined && server.connections == 1)
        // The frame of 16 MiB itself, while it is put together, is most of it.
        #expect(memory.growth < 160, "\(memory.growth) MiB")
        await rt.close()
    }

    private static func varint(_ number: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = number
        while rest > 127 {
            bytes.append(UInt8(rest & 127) | 128)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    @Test("Joins without end, of ever new clients with much to say, do not fill the memory", arguments: [0, 20_000])
    func endlessJoins(infoBytes: Int) async throws {
        let memory = MemoryWatch()
        let info = Array(#""\#(String(repeating: "i", count: infoBytes))""#.utf8)
        // An instrumented client takes them ten times as long, and its memory is not looked at.
        let count = (infoBytes == 0 ? 60_000 : 8_000) / (Sanitizer.isLoaded ? 20 : 1)
        let name = String(repeating: "c", count: 1_000)
        let server = try Attacker.server { attacker in
            attacker.welcome()
            for batch in 0..<(count / 100) {
                attacker.say(
                    all: (0..<100).map { number in
                        let client = ByteString("client-\(batch)-\(number)-\(name)")
                        var member = ClientInfo(user: client, client: client)
                        member.connInfo = info
                        return Reply(id: 0, .push(Push(channel: "r", .join(member))))
                    }
                )
            }
            attacker.say(.event(1))
            attacker.serve(Attacker.honest)
        }
        let rt = try Realtime(url: "ws://127.0.0.1:\(server.port)/")
        let room = rt.join("r")
        let heard = Lock(0)
        room.on("message") { _, _ in heard.withLock { $0 += 1 } }
        try await eventually(within: .seconds(100), "the event behind them") { heard.withLock { $0 } == 1 }
        #expect(room.count > 0)
        // What was sent is more than 120 MiB.
        #expect(memory.growth < 80, "\(memory.growth) MiB")
        await rt.close()
    }
}
