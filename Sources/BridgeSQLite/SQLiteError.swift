internal import CSQLite
internal import Glibc

/// What SQLite refused to do, and why.
///
/// Never holds a bound value.
package struct SQLiteError: Error, Sendable, CustomStringConvertible {
    package let code: ResultCode
    /// SQLite's own words.
    package let message: String
    /// What was being done.
    package let action: String
    /// `errno` of the system call that failed; 0 when none did.
    package let systemError: Int32

    package init(code: ResultCode, message: String, action: String, systemError: Int32) {
        self.code = code
        self.message = message
        self.action = action
        self.systemError = systemError
    }

    /// `number` is `errno` right after the call, for SQLite keeps none of its own when a COMMIT fails.
    init(_ code: Int32, _ database: OpaquePointer?, doing action: String, errno number: Int32 = 0) {
        self.code = ResultCode(rawValue: database.map(sqlite3_extended_errcode) ?? code)
        message = String(cString: database.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
        self.action = action
        let kept = database.map(sqlite3_system_errno) ?? 0
        systemError = kept == 0 && [.inputOutput, .full].contains(self.code.primary) ? number : kept
    }

    package var description: String {
        var text = "\(action): \(message) (SQLite \(code.rawValue))"
        if systemError != 0 { text += ", \(String(cString: strerror(systemError)))" }
        return text
    }
}
