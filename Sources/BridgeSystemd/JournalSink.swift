internal import Glibc
package import RoomsRuntime

/// Lines for journald, each an entry with its fields: `journalctl ROOM=shop`, `journalctl -x`.
// Safety: the socket is used on the log thread alone, or before there is one.
package final class JournalSink: LineSink, @unchecked Sendable {
    private let socket: JournalSocket
    private static let mostFields = 24
    /// How long an error may wait for the journal to see where it comes from: the process may be about to end.
    private static let patience = Duration.milliseconds(300)

    package var isThrottled: Bool { true }

    package static let usualPath = "/run/systemd/journal/socket"

    /// `bufferSize` nil: as large as the kernel gives.
    package init(path: String = JournalSink.usualPath, bufferSize: Int32? = nil) {
        socket = JournalSocket(path: path, bufferSize: bufferSize)
    }

    /// Nil unless standard error goes into the journal: somebody who sends it elsewhere wants the lines there.
    package static func detected() -> JournalSink? {
        guard let stream = getenv("JOURNAL_STREAM") else { return nil }
        var status = stat()
        guard fstat(STDERR_FILENO, &status) == 0 else { return nil }
        return String(cString: stream) == "\(status.st_dev):\(status.st_ino)" ? JournalSink() : nil
    }

    package func write(_ records: [LogRecord]) {
        for record in records {
            var entry = Self.entry(record.text, record.level, record.message)
            for field in record.fields.prefix(Self.mostFields) {
                entry.append(field: field.key.rawValue, field.value)
            }
            socket.send(entry.bytes)
        }
        if records.contains(where: { $0.level.rawValue <= LogLevel.error.rawValue }) {
            socket.settle(within: Self.patience)
        }
    }

    package func write(_ lines: [String], level: LogLevel, message: StaticString) {
        let deadline = SystemClock.now + .seconds(1)
        for line in lines { socket.send(Self.entry(line, level, message).bytes, until: deadline) }
        socket.settle(within: Self.patience)
    }

    private static func entry(_ text: String, _ level: LogLevel, _ message: StaticString) -> JournalEntry {
        var entry = JournalEntry()
        entry.append(field: "MESSAGE", text)
        entry.append(field: "PRIORITY", "\(level.rawValue)")
        entry.append(field: "SYSLOG_IDENTIFIER", "roombridge")
        if let id = MessageID.all["\(message)"] { entry.append(field: "MESSAGE_ID", id) }
        return entry
    }
}

/// The bytes of one entry in journald's native form.
struct JournalEntry {
    private(set) var bytes: [UInt8] = []

    /// A value with a line feed stands behind its length, so that it cannot pass for another field.
    mutating func append(field name: String, _ value: String) {
        bytes += name.utf8
        if value.utf8.contains(0x0a) {
            bytes.append(0x0a)
            withUnsafeBytes(of: UInt64(value.utf8.count).littleEndian) { bytes += $0 }
        } else {
            bytes.append(UInt8(ascii: "="))
        }
        bytes += value.utf8
        bytes.append(0x0a)
    }
}
