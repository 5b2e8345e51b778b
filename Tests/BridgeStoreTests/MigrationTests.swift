import BridgeModel
import BridgeSQLite
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import BridgeStore

/// Stores of older versions, as their programs wrote them.
@Suite struct MigrationTests {
    /// Version 1, whole: one room and one endpoint, two events of which the first is settled.
    private static let version1 = """
        PRAGMA page_size=8192;
        PRAGMA journal_mode=WAL;
        CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
        CREATE TABLE tally (
            id INTEGER PRIMARY KEY, next_row INTEGER NOT NULL, waiting_rows INTEGER NOT NULL,
            waiting_bytes INTEGER NOT NULL, sweep_from INTEGER NOT NULL, sweep_to INTEGER NOT NULL
        );
        CREATE TABLE rooms (id INTEGER PRIMARY KEY, server BLOB NOT NULL, name BLOB NOT NULL);
        CREATE TABLE positions (
            room INTEGER PRIMARY KEY, seq INTEGER NOT NULL, tail INTEGER NOT NULL,
            epoch BLOB, offset INTEGER NOT NULL, incarnation INTEGER NOT NULL
        );
        CREATE TABLE endpoints (id INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL);
        CREATE TABLE routes (id INTEGER PRIMARY KEY, endpoints TEXT NOT NULL);
        CREATE TABLE lanes (
            id INTEGER PRIMARY KEY, room INTEGER NOT NULL, endpoint INTEGER NOT NULL, acknowledged INTEGER NOT NULL,
            next INTEGER NOT NULL, tail INTEGER NOT NULL, waiting_rows INTEGER NOT NULL, waiting_bytes INTEGER NOT NULL
        );
        CREATE TABLE events (
            id INTEGER PRIMARY KEY, room INTEGER NOT NULL, route INTEGER NOT NULL, prev INTEGER NOT NULL,
            seq INTEGER NOT NULL, crc INTEGER NOT NULL, head BLOB NOT NULL, payload BLOB NOT NULL
        );
        INSERT INTO meta VALUES ('store_id', 'abcdefghijklmnopqrstuvwxyz234567');
        INSERT INTO tally VALUES (1, 3, 1, 77, 0, -1);
        INSERT INTO rooms VALUES (1, CAST('main' AS BLOB), CAST('room:0' AS BLOB));
        INSERT INTO positions VALUES (1, 2, 2, CAST('ab12' AS BLOB), 2, 0);
        INSERT INTO endpoints VALUES (1, CAST('a' AS BLOB));
        INSERT INTO routes VALUES (1, '1');
        INSERT INTO lanes VALUES (1, 1, 1, 1, 2, 2, 1, 77);
        PRAGMA application_id=1380086644;
        PRAGMA user_version=1;
        """

    /// What version 2 added: here with an endpoint that waits.
    private static let version2 = """
        ALTER TABLE lanes ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE dead_letters (
            id INTEGER PRIMARY KEY AUTOINCREMENT, endpoint INTEGER NOT NULL, reason TEXT NOT NULL, status INTEGER,
            attempts INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, row INTEGER NOT NULL,
            room INTEGER NOT NULL, route INTEGER NOT NULL, prev INTEGER NOT NULL, seq INTEGER NOT NULL,
            crc INTEGER NOT NULL, head BLOB NOT NULL, payload BLOB NOT NULL
        );
        CREATE TABLE holds (
            endpoint INTEGER PRIMARY KEY, failures INTEGER NOT NULL, end_at INTEGER NOT NULL, length INTEGER NOT NULL
        );
        INSERT INTO holds VALUES (1, 4, 1796004000123, 30000);
        PRAGMA user_version=2;
        """

    private func older(_ fixture: StoreFixture, _ more: String = "") throws -> String {
        try StoreFiles.makeDirectory(fixture.path)
        let path = fixture.path + "/store.db"
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        let database = try Database(path: path)
        try database.execute(Self.version1 + more, doing: "making an old store")
        database.close()
        return path
    }

    @Test("version 1 goes on where it was, and lies beside as it was")
    func version1() throws {
        let fixture = try StoreFixture()
        let path = try older(fixture)
        let ledger = try fixture.ledger()
        #expect(!ledger.isNew)
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        #expect(setup.storeID == "abcdefghijklmnopqrstuvwxyz234567")
        #expect(setup.positions == [Position(epoch: "ab12", offset: 2)])
        #expect(setup.lanes.map(\.acknowledged) == [1] && setup.lanes.map(\.skipped) == [0])
        #expect(setup.lanes.map(\.next) == [RowID(2)] && setup.lastCommitted == RowID(2))
        #expect(try ledger.database.integer("PRAGMA user_version", doing: "reading the version") == Schema.version)
        let sent = try ledger.append(Sample.append(setup.rooms[0], 3, route: setup.routes[0]))
        #expect(sent.map(\.row) == [RowID(3)] && sent.map(\.seq) == [3])
        ledger.close()

        let copy = path + ".schema-1"
        let kept = try Database(path: copy)
        #expect(try kept.integer("PRAGMA user_version", doing: "reading the version") == 1)
        #expect(try kept.integer("SELECT acknowledged FROM lanes", doing: "reading the copy") == 1)
        kept.close()
        let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(fixture.lines.contains { $0.contains("brought up to date") && $0.contains("schema-1") })
        // The present version is left alone.
        let before = try Data(contentsOf: URL(fileURLWithPath: copy))
        try fixture.ledger().close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == before)
    }

    @Test("version 2 goes on where it was, and its endpoint waits on")
    func version2() throws {
        let fixture = try StoreFixture()
        let path = try older(fixture, Self.version2)
        let ledger = try fixture.ledger()
        let setup = try ledger.configure(rooms: Sample.rooms(1), endpoints: ["a"], routes: [[0]])
        #expect(setup.holds == [StoredHold(failures: 4, end: 1_796_004_000_123, length: 30_000)])
        #expect(setup.lanes.map(\.acknowledged) == [1] && setup.lanes.map(\.hold) == [nil])
        #expect(try ledger.database.integer("PRAGMA user_version", doing: "reading the version") == Schema.version)
        ledger.close()
        #expect(FileManager.default.fileExists(atPath: path + ".schema-2"))
    }

    @Test("a migration that cannot keep its copy changes nothing")
    func noCopy() throws {
        let fixture = try StoreFixture()
        let path = try older(fixture)
        try FileManager.default.createDirectory(atPath: path + ".schema-1", withIntermediateDirectories: false)
        #expect(throws: StoreError.self) { try fixture.ledger() }
        let database = try Database(path: path)
        #expect(try database.integer("PRAGMA user_version", doing: "reading the version") == 1)
        database.close()
        try FileManager.default.removeItem(atPath: path + ".schema-1")
        try fixture.ledger().close()
    }
}
