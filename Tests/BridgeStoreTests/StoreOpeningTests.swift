import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import BridgeStore

@Suite struct StoreOpeningTests {
    /// Why opening fails; nil when it does not.
    private func failure(_ fixture: StoreFixture, in directory: String? = nil) -> StoreError? {
        do throws(StoreError) {
            let store = try Store.open(StoreOptions(directory: directory ?? fixture.path), logger: fixture.logger)
            store.stop()
            return nil
        } catch {
            return error
        }
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test("a new state directory and its files are for their owner alone")
    func modes() throws {
        let fixture = try StoreFixture()
        let store = try fixture.store()
        _ = try store.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        #expect(try mode(fixture.path) == 0o700)
        for name in try FileManager.default.contentsOfDirectory(atPath: fixture.path) {
            #expect(try mode(fixture.path + "/" + name) == 0o600, "\(name)")
        }
        store.stop()
        #expect(failure(fixture) == nil)
    }

    @Test("a state directory may be a link, as systemd makes it")
    func linked() throws {
        let fixture = try StoreFixture()
        try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
        let link = fixture.path + "-link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.path)
        defer { try? FileManager.default.removeItem(atPath: link) }
        #expect(failure(fixture, in: link) == nil)
        #expect(FileManager.default.fileExists(atPath: fixture.path + "/" + Schema.databaseName))
    }

    @Test("a second start says which process holds the directory, and leaves it alone")
    func locked() throws {
        let fixture = try StoreFixture()
        let store = try fixture.store()
        let error = try #require(failure(fixture))
        #expect(error.code == .locked)
        #expect(error.exitCode == 69)
        #expect(error.message.contains("process \(getpid())"))
        #expect(error.message.contains(fixture.path))
        #expect(error.message.contains("state directory of its own"))
        store.stop()
        #expect(failure(fixture) == nil)
    }

    @Test("a file in place of the directory cannot be used")
    func fileInPlace() throws {
        let fixture = try StoreFixture()
        try fixture.directory.write("hello", to: "state")
        let error = try #require(failure(fixture))
        #expect(error.code == .cannotCreate)
        #expect(error.exitCode == 73)
        #expect(error.message.contains("is not a directory"))
        #expect(try String(contentsOfFile: fixture.path, encoding: .utf8) == "hello")
    }

    @Test("only the last part of the path is made")
    func parentMissing() throws {
        let fixture = try StoreFixture()
        let error = try #require(failure(fixture, in: fixture.path + "/deeper/state"))
        #expect(error.exitCode == 73)
        #expect(error.systemError == ENOENT)
        #expect(error.message.contains("the directory above it must exist"))
    }

    @Test("a directory that cannot be written is refused with the reason")
    func readOnly() throws {
        let fixture = try StoreFixture()
        // Nobody can make files there, not even root.
        let error = try #require(failure(fixture, in: "/sys"))
        #expect(error.code == .cannotCreate)
        #expect(error.exitCode == 73)
        #expect(error.systemError != 0)
        #expect(error.message.contains("/sys/store.lock"))
        #expect(error.message.contains("writable"))
    }

    @Test("a link in place of the database is not followed")
    func link() throws {
        let fixture = try StoreFixture()
        mkdir(fixture.path, 0o700)
        try FileManager.default.createSymbolicLink(
            atPath: fixture.path + "/store.db",
            withDestinationPath: fixture.directory.file("elsewhere")
        )
        #expect(failure(fixture)?.exitCode == 73)
        #expect(!FileManager.default.fileExists(atPath: fixture.directory.file("elsewhere")))
    }

    @Test("a newer schema is refused and not touched")
    func newer() throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        try ledger.database.execute("PRAGMA user_version=\(Schema.version + 1)", doing: "preparing the test")
        // As after a crash: the newer version stands in the log alone.
        let copy = fixture.path + "2"
        try FileManager.default.copyItem(atPath: fixture.path, toPath: copy)
        ledger.close()
        let names = ["store.db", "store.db-wal"]
        let before = try names.map { try Data(contentsOf: URL(fileURLWithPath: copy + "/" + $0)) }
        #expect(before[1].count > 0)
        let error = try #require(failure(fixture, in: copy))
        #expect(error.code == .newerSchema)
        #expect(error.exitCode == 78)
        #expect(error.message.contains("schema \(Schema.version + 1)"))
        #expect(try names.map { try Data(contentsOf: URL(fileURLWithPath: copy + "/" + $0)) } == before)
    }

    @Test("a log without its database is damage, and nothing is touched", arguments: [true, false])
    func logAlone(isEmpty: Bool) throws {
        let fixture = try StoreFixture()
        let ledger = try fixture.ledger()
        #expect(ledger.isNew)
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        _ = try ledger.append(Sample.append(setup.rooms[0], 1, route: setup.routes[0]))
        // As after a crash: what was stored stands in the log.
        let copy = fixture.path + "2"
        try FileManager.default.copyItem(atPath: fixture.path, toPath: copy)
        ledger.close()
        let database = copy + "/store.db"
        #expect(try Data(contentsOf: URL(fileURLWithPath: database)).count > 0)
        try FileManager.default.removeItem(atPath: database)
        if isEmpty { try fixture.directory.write("", to: "state2/store.db") }
        let log = URL(fileURLWithPath: database + "-wal")
        let before = try Data(contentsOf: log)
        try #require(before.count > 0)
        let error = try #require(failure(fixture, in: copy))
        #expect(error.code == .damaged)
        #expect(error.exitCode == 74)
        #expect(error.message.contains("\(database): the database is gone, but its log"))
        #expect(try Data(contentsOf: log) == before)
        #expect(FileManager.default.fileExists(atPath: database) == isEmpty)
    }

    @Test("the store says whether it was made just now")
    func isNew() throws {
        let fixture = try StoreFixture()
        let first = try fixture.store()
        #expect(first.isNew)
        first.stop()
        let second = try fixture.store()
        #expect(!second.isNew)
        second.stop()
    }

    @Test("another program's database is refused")
    func foreign() throws {
        let fixture = try StoreFixture()
        mkdir(fixture.path, 0o700)
        try fixture.directory.write("", to: "state/store.db")
        let other = try Database(path: fixture.path + "/store.db")
        try other.execute("CREATE TABLE notes (text)", doing: "preparing the test")
        other.close()
        let error = try #require(failure(fixture))
        #expect(error.code == .foreign)
        #expect(error.exitCode == 78)
    }

    static let pragmas: [(String, Int64)] = [
        ("synchronous", 2), ("page_size", 8_192), ("secure_delete", 0), ("wal_autocheckpoint", 0),
        ("journal_size_limit", 16 << 20), ("mmap_size", 0), ("cache_size", -2_048), ("cell_size_check", 1),
        ("trusted_schema", 0), ("busy_timeout", 0),
    ]

    @Test("the connection has the settings that durability and cost rest on", arguments: pragmas)
    func settings(name: String, value: Int64) throws {
        let fixture = try StoreFixture()
        try fixture.ledger().close()
        let ledger = try fixture.ledger()
        #expect(try ledger.database.integer("PRAGMA \(name)", doing: "reading a setting") == value)
        #expect(FileManager.default.fileExists(atPath: fixture.path + "/store.db"))
        try ledger.rewriteTally()
        #expect(FileManager.default.fileExists(atPath: fixture.path + "/store.db-wal"))
        // No other process gets at the file while it is in use.
        #expect(!FileManager.default.fileExists(atPath: fixture.path + "/store.db-shm"))
    }

    @Test("opening reads in proportion to rooms and lanes, not to events")
    func startUp() throws {
        func pages(_ events: Int) throws -> Int {
            let fixture = try StoreFixture()
            let rooms = Sample.rooms(50)
            let ledger = try fixture.ledger()
            let setup = try ledger.configure(rooms: rooms, endpoints: ["a"], routes: [[0]])
            var records: [AppendRecord] = []
            for index in 0..<events {
                records.append(
                    Sample.append(setup.rooms[index % 50], UInt64(index / 50 + 1), route: setup.routes[0])
                )
            }
            for start in stride(from: 0, to: events, by: 10_000) {
                _ = try ledger.commit(records[start..<min(events, start + 10_000)], [])
            }
            ledger.close()
            let again = try fixture.ledger()
            let lanes = try again.configure(rooms: rooms, endpoints: ["a"], routes: [[0]]).lanes
            #expect(lanes.reduce(0) { $0 + $1.waitingRows } == Int64(events))
            return again.database.pagesRead
        }
        let few = try pages(1_000)
        let many = try pages(200_000)
        // The tree over a larger table is a level or two deeper.
        #expect(many <= few + 3)
        #expect(few < 40)
    }
}
