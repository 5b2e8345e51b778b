internal import CSQLite

/// The SQLite that this process runs with.
package enum SQLiteLibrary {
    package static var version: String { String(cString: sqlite3_libversion()) }
}
