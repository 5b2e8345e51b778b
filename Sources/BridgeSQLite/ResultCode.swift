internal import CSQLite

/// A result code of SQLite, extended ones included.
package struct ResultCode: Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The code without its extension: `SQLITE_IOERR_FSYNC` is an `inputOutput`.
    package var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }

    package static let ok = ResultCode(rawValue: SQLITE_OK)
    package static let error = ResultCode(rawValue: SQLITE_ERROR)
    package static let busy = ResultCode(rawValue: SQLITE_BUSY)
    package static let locked = ResultCode(rawValue: SQLITE_LOCKED)
    package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    package static let inputOutput = ResultCode(rawValue: SQLITE_IOERR)
    package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    package static let full = ResultCode(rawValue: SQLITE_FULL)
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    package static let permission = ResultCode(rawValue: SQLITE_PERM)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)

    /// A primary code matches all its extended ones.
    package static func ~= (pattern: ResultCode, code: ResultCode) -> Bool {
        pattern == code || pattern == code.primary
    }
}
