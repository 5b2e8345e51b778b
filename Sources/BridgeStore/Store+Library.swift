internal import BridgeSQLite

extension Store {
    /// The version of SQLite that holds everything.
    package static var libraryVersion: String { SQLiteLibrary.version }
}
