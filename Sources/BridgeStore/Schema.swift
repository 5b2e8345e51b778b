// What the state directory holds, and what is always true of it.
//
// `store.db` is an SQLite database in WAL mode with `synchronous=FULL`; one connection of one process reads, writes and
// checkpoints it. `store.lock` holds the pid of that process, which has it locked.
//
// Words: a *record* is an event or a gap that was committed for a room; a record that is routed somewhere has a *row*. A
// *lane* is one (endpoint, room). A lane *settles* its rows in order; what it has settled is a prefix.
//
//  1. A room's position moves in the transaction that stores the event. Within one epoch and incarnation it never goes
//     back: an event at or below it was committed before, and is dropped and counted.
//  2. `positions.seq` counts the room's records from 1, routed or not. Two rows of a room have different seqs, and the
//     higher id has the higher seq.
//  3. Ids of rows stand in the order of commits and are never used again: `tally.next_row` is above every id there ever was.
//  4. A row belongs to the lanes of its room whose endpoint is in its route. The route is written with the row and never
//     changes; a route is an immutable set.
//  5. Of a lane: every row below `next` is settled, no row at or above it is. `tail` is its last row, kept or not.
//     `waiting_rows` and `waiting_bytes` are the count and size of its rows at or above `next`; with none waiting the
//     next row of the lane also becomes its `next`. `acknowledged` is the seq of its last row that was accepted, 0 at
//     first; `skipped` counts those that became dead letters since then.
//  6. A row goes in the transaction that settles it for the last of its lanes. So the rows there are, are exactly the rows
//     that some lane has not settled (but for those of the sweep, 9), and one stuck lane keeps its own rows alone.
//  7. `prev` of a row is the id of the room's row before it, kept or not (0: none). A settlement names the last of the rows
//     that it settles; the others are found by going back along `prev` to the lane's `next`, so the work is in proportion
//     to what was settled and nothing of the backlog is held in memory. Where a link of the chain is gone (rows of
//     another route lay between), the range is scanned instead.
//  8. `tally.waiting_rows` and `waiting_bytes` are the count and size of all rows, each once.
//  9. An endpoint that is no longer configured loses its lanes at once. Rows that no lane waits for any more then lie
//     between `tally.sweep_from` and `sweep_to`, and the writer deletes them a slice at a time.
// 10. A dead letter is a copy of its row, made in the transaction that settles it: it stays whatever the lanes do, until
//     somebody removes it or its endpoint goes.
//     One with a `run` is being sent again: at the head of its lane (`ordered`) or beside it.
// 11. What an endpoint lost, because its operator said so or by damage, is below the `next` of its lane, and stands in `losses` until the
//     endpoint has the gap: one a stream, with the row and the seq of the last that is gone.
//     So does a lane that came to its end with fewer rows than were stored for it: that gap has a row of its own.
// 12. `ages`: every row below `row` was committed at `at` or before.
// 13. `told`: the last notice of each kind that was committed for a room, where the same again is no news.
// 14. `crc` is CRC-32C over id, room, route, prev and seq (64 bits each, little endian), head and payload.
//
// Deleting rule 6 in other words: with next(L) for each lane L of the row's room whose endpoint is in the row's route,
// a row goes when its id is below the least next(L). There is no index over rows by room: it would cost more than all the
// rest together. An endpoint's backlog is read by forward passes in id order.
//
// Memory and start-up are in proportion to rooms and lanes, which are held in memory whole; no statement at start looks at
// `events`, but for its highest id.

/// The tables, their version, and the settings of the connection.
enum Schema {
    /// `PRAGMA user_version` of a store that this program writes.
    static let version: Int64 = 3
    /// `PRAGMA application_id`: "RBst".
    static let applicationID: Int64 = 0x5242_7374

    static let databaseName = "store.db"
    static let lockName = "store.lock"

    /// What a stored row is counted as beyond its head and payload.
    static let rowOverhead: Int64 = 48

    /// Before the first read: with the exclusive mode the log's index lives on the heap and no other process gets at the file.
    static let lockingPragma = "PRAGMA locking_mode=EXCLUSIVE"

    /// Only on an empty file.
    static let creationPragmas = """
        PRAGMA page_size=8192;
        PRAGMA auto_vacuum=NONE;
        """

    /// On each connection, once the version is known to be ours.
    static let connectionPragmas = """
        PRAGMA journal_mode=WAL;
        PRAGMA synchronous=FULL;
        PRAGMA journal_size_limit=16777216;
        PRAGMA mmap_size=0;
        PRAGMA cache_size=-2048;
        PRAGMA secure_delete=OFF;
        PRAGMA trusted_schema=OFF;
        PRAGMA cell_size_check=ON;
        PRAGMA temp_store=MEMORY;
        """

    /// `row` to `payload` are those of the event; times are in milliseconds since 1970.
    static let deadLetters = """
        CREATE TABLE dead_letters (
            id INTEGER PRIMARY KEY AUTOINCREMENT, endpoint INTEGER NOT NULL, reason TEXT NOT NULL, status INTEGER,
            attempts INTEGER NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, row INTEGER NOT NULL,
            room INTEGER NOT NULL, route INTEGER NOT NULL, prev INTEGER NOT NULL, seq INTEGER NOT NULL,
            crc INTEGER NOT NULL, head BLOB NOT NULL, payload BLOB NOT NULL
        );
        """

    /// What is sent again, by which run.
    static let retries = """
        ALTER TABLE dead_letters ADD COLUMN run BLOB;
        ALTER TABLE dead_letters ADD COLUMN ordered INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX retries ON dead_letters (endpoint, id) WHERE run IS NOT NULL;
        """

    /// Of rooms that wait for an endpoint, and with room 0 of an endpoint as a whole.
    ///
    /// Times are in milliseconds, `end_at` since 1970.
    static let holds = """
        CREATE TABLE holds (
            endpoint INTEGER NOT NULL, room INTEGER NOT NULL, failures INTEGER NOT NULL, attempts INTEGER NOT NULL,
            end_at INTEGER NOT NULL, length INTEGER NOT NULL, PRIMARY KEY (endpoint, room)
        ) WITHOUT ROWID;
        """

    /// What lanes lost and were not told, and since when rows wait; times are in milliseconds since 1970.
    static let losses = """
        CREATE TABLE losses (
            lane INTEGER NOT NULL, row INTEGER NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
            first INTEGER NOT NULL, last INTEGER, epoch BLOB NOT NULL, incarnation INTEGER NOT NULL,
            damaged INTEGER NOT NULL, PRIMARY KEY (lane, row)
        ) WITHOUT ROWID;
        CREATE TABLE ages (row INTEGER PRIMARY KEY, at INTEGER NOT NULL);
        """

    /// Rows of `events` that were not what was written, as they were found; nothing reads them but people.
    static let quarantine = """
        CREATE TABLE quarantine (
            id INTEGER PRIMARY KEY, at INTEGER NOT NULL, room INTEGER, route INTEGER, prev INTEGER, seq INTEGER,
            crc INTEGER, head BLOB, payload BLOB
        );
        """

    /// Texts of notices.
    static let told = """
        CREATE TABLE told (
            room INTEGER NOT NULL, kind BLOB NOT NULL, text BLOB NOT NULL, PRIMARY KEY (room, kind)
        ) WITHOUT ROWID;
        """

    static let tables = """
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
            next INTEGER NOT NULL, tail INTEGER NOT NULL, waiting_rows INTEGER NOT NULL, waiting_bytes INTEGER NOT NULL,
            skipped INTEGER NOT NULL
        );
        CREATE TABLE events (
            id INTEGER PRIMARY KEY, room INTEGER NOT NULL, route INTEGER NOT NULL, prev INTEGER NOT NULL,
            seq INTEGER NOT NULL, crc INTEGER NOT NULL, head BLOB NOT NULL, payload BLOB NOT NULL
        );
        \(deadLetters)
        \(holds)
        \(losses)
        \(retries)
        \(quarantine)
        \(told)
        INSERT INTO tally VALUES (1, 1, 0, 0, 0, -1);
        """
}
