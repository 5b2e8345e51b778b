internal import CSQLite
internal import Glibc

/// A prepared statement, used again and again by the thread that owns its database.
///
/// Blobs are bound without a copy: their bytes must stay where they are until `run` or `query` returns, which both reset
/// the statement and clear what was bound.
package final class Statement {
    private let handle: OpaquePointer
    private let database: Database
    private let action: String

    init(_ database: Database, _ sql: String, doing action: String) throws(SQLiteError) {
        var handle: OpaquePointer?
        let connection = try database.open()
        let result = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard result == SQLITE_OK, let handle else { throw SQLiteError(result, connection, doing: action) }
        self.handle = handle
        self.database = database
        self.action = action
    }

    /// A closed database took its statements along.
    deinit { if database.isOpen { sqlite3_finalize(handle) } }

    /// Runs a statement that gives no rows.
    package func run(_ bind: (Bindings) -> Void = { _ in }) throws(SQLiteError) {
        try query(bind) { (_) throws(SQLiteError) in true }
    }

    /// Gives `body` each row until it answers false; the row is valid for that call.
    package func query(
        _ bind: (Bindings) -> Void = { _ in },
        _ body: (Row) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) {
        let connection = try database.open()
        defer {
            sqlite3_reset(handle)
            sqlite3_clear_bindings(handle)
        }
        bind(Bindings(handle: handle))
        while true {
            errno = 0
            let result = sqlite3_step(handle)
            if result == SQLITE_DONE { return }
            guard result == SQLITE_ROW else {
                throw SQLiteError(result, connection, doing: action, errno: errno)
            }
            guard try body(Row(handle: handle)) else { return }
        }
    }
}

/// The parameters of a statement, numbered from 1.
package struct Bindings {
    fileprivate let handle: OpaquePointer

    package func set(_ index: Int32, _ value: Int64) {
        sqlite3_bind_int64(handle, index, value)
    }

    /// Does not copy.
    package func set(_ index: Int32, _ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else {
            sqlite3_bind_zeroblob(handle, index, 0)
            return
        }
        sqlite3_bind_blob64(handle, index, base, UInt64(bytes.count), nil)
    }

    package func setNull(_ index: Int32) {
        sqlite3_bind_null(handle, index)
    }
}

/// The columns of the present row, numbered from 0.
package struct Row {
    fileprivate let handle: OpaquePointer

    package func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    /// The bytes of a blob or text; valid until the next row.
    package func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let base = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, column)))
    }

    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }
}
