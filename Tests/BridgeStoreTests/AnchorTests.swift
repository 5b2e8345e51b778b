import BridgeModel
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import BridgeStore

/// The file that tells how far a store once was.
@Suite(.timeLimit(.minutes(1))) struct AnchorTests {
    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
    }

    /// Runs a store that commits so many more events of one room.
    private func run(_ offsets: ClosedRange<UInt64>) async throws {
        let store = try fixture.store()
        let setup = try store.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        store.start(StorePorts(committed: { _ in }, admission: { _ in }, failed: { _ in }))
        _ = store.append(offsets.map { Sample.append(setup.rooms[0], $0, route: setup.routes[0]) })
        try await eventually("commits") { store.counts.records == offsets.count }
        store.stop()
    }

    @Test("a store that lost its end says how much, never gives an id twice, and asks for it again")
    func rewound() async throws {
        try await run(1...3)
        let database = URL(fileURLWithPath: fixture.path + "/store.db")
        let old = try Data(contentsOf: database)
        try await run(4...10)
        try old.write(to: database)
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        #expect(setup.positions[0]?.offset == 3)
        let again = try ledger.append(Sample.append(setup.rooms[0], 4, route: setup.routes[0]))
        #expect(again.map(\.row.rawValue) == [11] && again.map(\.seq) == [4])
        ledger.close()
        #expect(
            fixture.lines.contains { $0.hasPrefix("critical the end of the store is gone") && $0.contains("MISSING=7") }
        )
    }

    @Test("a store that ended well, one without an anchor and one with another's lose nothing")
    func silent() async throws {
        try await run(1...3)
        try await run(4...5)
        let anchor = URL(fileURLWithPath: fixture.path + "/store.anchor")
        #expect(try String(contentsOf: anchor, encoding: .utf8).contains(" 6\n"))
        for content in ["", "nonsense", "anotherstore 1000\n", " 1000\n"] {
            try Data(content.utf8).write(to: anchor)
            let ledger = try fixture.ledger()
            #expect(ledger.lastRow.rawValue == 5)
            ledger.close()
        }
        #expect(!fixture.lines.contains { $0.contains("the end of the store") })
    }

    @Test("it is never ahead of what was committed, and at most a second behind")
    func keepsUp() async throws {
        let store = try fixture.store()
        let setup = try store.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        store.start(StorePorts(committed: { _ in }, admission: { _ in }, failed: { _ in }))
        defer { store.stop() }
        let anchor = URL(fileURLWithPath: fixture.path + "/store.anchor")
        for offset in 1...3 as ClosedRange<UInt64> {
            _ = store.append([Sample.append(setup.rooms[0], offset, route: setup.routes[0])])
            try await eventually("the anchor") {
                let text = (try? String(contentsOf: anchor, encoding: .utf8)) ?? ""
                return text.contains(" \(offset + 1)\n")
            }
        }
    }
}
