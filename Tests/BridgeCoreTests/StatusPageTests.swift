import BridgeModel
import Rooms
import RoomsRuntime
import RoomsWire
import Testing

@testable import BridgeCore
@testable import BridgeDelivery
@testable import BridgeStore

@Suite struct StatusPageTests {
    private static let now: Int64 = 1_772_366_400_000

    private static func server(
        _ name: ByteString = "main",
        _ connection: ConnectionStatus = .connected,
        joined: Int = 3,
        left: Int = 0,
        troubles: [(room: ByteString, code: UInt32, reason: ByteString)] = []
    ) -> ServiceStatus.Server {
        ServiceStatus.Server(
            name: name,
            url: "wss://realtime.example.com/connection/websocket",
            intake: EventIntake.Report(
                connection: connection,
                since: now - 7_500_000,
                changedAt: now - 1_000,
                rooms: 3,
                joined: joined,
                left: left,
                troubles: troubles
            )
        )
    }

    private static func status(
        _ servers: [ServiceStatus.Server],
        _ endpoints: [EndpointStatus] = [],
        store: StoreStatus = StoreStatus(maxSize: 1 << 30)
    ) -> ServiceStatus {
        ServiceStatus(startedAt: now - 90_000_000, now: now, servers: servers, store: store, endpoints: endpoints)
    }

    private static var holding: EndpointStatus {
        let refusal = Refusal(scope: .endpoint, status: 503, reason: "503 Service Unavailable", hint: nil)
        return EndpointStatus(
            id: EndpointID(1),
            name: "orders",
            hold: EndpointStatus.Hold(since: now - 303_000, nextAttempt: now + 42_000, failures: 9),
            waitingRooms: 2,
            inFlight: 0,
            refusal: refusal
        )
    }

    private static var full: StoreStatus {
        var store = StoreStatus(waitingRows: 1_204, waitingBytes: 2 << 20, maxSize: 1 << 30)
        store.endpoints = [
            StoreStatus.Endpoint(id: EndpointID(1), waitingRows: 1_204, waitingBytes: 2 << 20, deadLetters: 1)
        ]
        return store
    }

    private static func lines(_ status: ServiceStatus, _ page: StatusPage = StatusPage()) throws -> [String] {
        page.lines(try JSONDocument.parse(status.json).root)
    }

    @Test func `a service that is well says so`() throws {
        let endpoint = EndpointStatus(
            id: EndpointID(1),
            name: "orders",
            hold: nil,
            waitingRooms: 0,
            inFlight: 0,
            refusal: nil
        )
        let lines = try Self.lines(Self.status([Self.server()], [endpoint]))
        #expect(
            lines == [
                "RoomBridge \(Version.number) runs, up 1d1h",
                "",
                "SERVER",
                "  main  connected for 2h5m, 3 of 3 rooms joined",
                "",
                "ENDPOINT",
                "  orders  takes events, nothing waits",
                "",
                "buffer: 0 events, 0 B of 1.0 GiB",
            ]
        )
    }

    @Test func `it answers who holds, why, since when and what comes next`() throws {
        let waiting = ConnectionStatus.waiting(
            code: 0,
            reason: "nothing listens there",
            retryAfter: .seconds(5),
            isTerminal: false
        )
        let status = Self.status([Self.server("main", waiting, joined: 0)], [Self.holding], store: Self.full)
        let lines = try Self.lines(status)
        #expect(lines.contains("  main  not connected for 2h5m: nothing listens there"))
        #expect(lines.contains("        next attempt in 4.0s; what happens is in the server's history until then"))
        #expect(lines.contains("  orders  holds for 5m3s, 1204 events wait, 2.0 MiB, 1 dead letter"), "\(lines)")
        #expect(lines.contains("          503 Service Unavailable"))
        #expect(lines.contains("          failed 9 times, next attempt in 42.0s"))
        #expect(status.line == "0 of 3 rooms joined, no connection to main, 1204 events wait, endpoint orders holds")
    }

    @Test func `rooms that are refused and rooms that are left are told`() throws {
        let troubles: [(room: ByteString, code: UInt32, reason: ByteString)] = [("order:9", 103, "permission denied")]
        let lines = try Self.lines(Self.status([Self.server(joined: 1, left: 1, troubles: troubles)]))
        #expect(
            lines.contains(
                "  main  connected for 2h5m, 1 of 3 rooms joined, 1 left (their endpoints hold too much), 1 refused"
            )
        )
        #expect(lines.contains("  order:9  permission denied (code 103)"))
    }

    @Test func `it fits a terminal, in colours there alone`() throws {
        let refusal = Refusal(scope: .endpoint, status: 500, reason: String(repeating: "long ", count: 100), hint: nil)
        var endpoint = Self.holding
        endpoint.refusal = refusal
        let status = Self.status([Self.server()], [endpoint], store: Self.full)
        let plain = try Self.lines(status)
        #expect(!plain.joined().contains("\u{1b}"))
        #expect(plain.contains { $0.count > 400 })
        let page = try Self.lines(status, StatusPage(hasColour: true, width: 60))
        #expect(page.joined().contains("\u{1b}[31m"))
        for line in page {
            let visible = line.replacing(/\u{1b}\[\d+m/, with: "")
            #expect(visible.count <= 60, "\(visible)")
        }
    }

    @Test func `foreign text does nothing to a terminal`() throws {
        let troubles: [(room: ByteString, code: UInt32, reason: ByteString)] = [
            (ByteString("x\u{1b}[2J\n"), 103, ByteString("a\u{1b}]0;b\u{7}"))
        ]
        let lines = try Self.lines(Self.status([Self.server(troubles: troubles)]))
        #expect(!lines.joined().contains("\u{1b}") && !lines.joined().contains("\n"))
        #expect(lines.contains { $0.contains(#"x\x1b[2J\n"#) })
    }

    @Test func `the line of the service manager says what is wrong`() {
        #expect(Self.status([Self.server()]).line == "3 of 3 rooms joined, nothing waits")
        var store = StoreStatus(waitingRows: 1, waitingBytes: 10, maxSize: 100, isBufferFull: true, isDiskFull: true)
        #expect(
            Self.status([Self.server()], store: store).line
                == "3 of 3 rooms joined, 1 event waits, the disk is full, the buffer is full"
        )
        store.isDiskFull = false
        let many = (0..<5).map { number in
            var endpoint = Self.holding
            endpoint.name = ByteString("e\(number)")
            return endpoint
        }
        #expect(Self.status([], many).line == "0 of 0 rooms joined, nothing waits, 5 endpoints hold: e0, e1, e2, ...")
    }

    @Test func `an endpoint that holds for long is told once, and again when it comes back`() {
        var holds = LongHolds()
        var endpoint = Self.holding
        #expect(holds.update([endpoint], now: Self.now).isEmpty)
        let later = Self.now + LongHolds.limit
        #expect(holds.update([endpoint], now: later).map(\.name) == ["orders"])
        #expect(holds.update([endpoint], now: later).isEmpty)
        let hold = endpoint.hold
        endpoint.hold = nil
        #expect(holds.update([endpoint], now: later).isEmpty)
        endpoint.hold = hold
        #expect(holds.update([endpoint], now: later).count == 1)
    }

    @Test func `times are read as they are written`() {
        for time: Int64 in [0, 1, 951_782_399_999, 1_772_366_400_250, 4_102_444_799_001] {
            #expect(UTCTime.milliseconds("\(UTCTime(milliseconds: time))") == time)
        }
        #expect(UTCTime.milliseconds("yesterday") == nil)
        #expect(UTCTime.milliseconds("2026-03-01T12:00:00.2500") == nil)
    }
}
