internal import BridgeSQLite

/// Why the store cannot be opened or go on.
package struct StoreError: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable {
        /// Another process uses the state directory.
        case locked
        /// The directory or a file in it cannot be made or opened.
        case cannotCreate
        /// Reading or writing failed: only a fresh start can tell what reached the disk.
        case inputOutput
        /// The disk is full: what waits is kept and tried again.
        case full
        /// The database is not what was written.
        case damaged
        /// A newer version of the program wrote it.
        case newerSchema
        /// The file is a database, but not ours.
        case foreign
    }

    package let code: Code
    /// What, where, and what would be right.
    package let message: String
    /// `errno` of the system call that failed; 0 when none did.
    package let systemError: Int32

    package init(code: Code, message: String, systemError: Int32 = 0) {
        self.code = code
        self.message = message
        self.systemError = systemError
    }

    /// Waiting helps.
    package var isRetriable: Bool { code == .full }

    /// What the process ends with (`sysexits.h`).
    package var exitCode: Int32 {
        switch code {
        case .locked: 69
        case .cannotCreate: 73
        case .inputOutput, .full, .damaged: 74
        case .newerSchema, .foreign: 78
        }
    }

    package var description: String { message }
}

extension StoreError {
    /// What a failure of SQLite on the database at `path` means.
    init(_ error: SQLiteError, path: String) {
        let code: Code
        let advice: String
        switch error.code {
        case .full:
            code = .full
            advice = "free some space on that file system"
        case .corrupt, .notADatabase:
            code = .damaged
            advice =
                "the file is damaged: the next start moves it aside and saves what can be read of it"
        case .busy, .locked:
            code = .locked
            advice = "another program has the database open: close it"
        case .cannotOpen, .permission, .readOnly:
            code = .cannotCreate
            advice = "the state directory and its files must be writable for this user"
        default:
            code = .inputOutput
            advice = "check the disk and its file system, then start again"
        }
        self.init(code: code, message: "\(path): \(error); \(advice)", systemError: error.systemError)
    }
}
