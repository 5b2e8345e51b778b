import BridgeSystemd
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

/// What journald gets, from a datagram socket of the test's own in its place.
@Suite struct JournalSinkTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.file("journal")
    }

    @Test func `an entry has the line, its priority, its id and its fields`() throws {
        let journal = try JournalSocketStub(path)
        let queue = LogQueue(sink: JournalSink(path: path))
        let logger = Logger(queue: queue, level: .info).with(LogField(.server, "main"))
        logger.critical(
            "events of a room are missing",
            LogField(.room, ByteString("a\nPRIORITY=0")),
            LogField(.gapFrom, 3),
            LogField(.gapTo, 7)
        )
        logger.info("a line of no kind")
        queue.close()
        let entry = try #require(journal.next())
        #expect(
            entry["MESSAGE"]
                == [#"events of a room are missing server=main room="a\nPRIORITY=0" gap_from=3 gap_to=7"#]
        )
        #expect(entry["PRIORITY"] == ["2"])
        #expect(entry["SYSLOG_IDENTIFIER"] == ["roombridge"])
        #expect(entry["MESSAGE_ID"] == [try #require(MessageID.all["events of a room are missing"])])
        #expect(entry["ROOM"] == [#"a\nPRIORITY=0"#])
        #expect(entry["GAP_FROM"] == ["3"] && entry["GAP_TO"] == ["7"] && entry["SERVER"] == ["main"])
        let other = try #require(journal.next())
        #expect(other["PRIORITY"] == ["6"] && other["MESSAGE_ID"] == nil)
        #expect(journal.next() == nil)
    }

    @Test func `each level has its priority`() throws {
        let journal = try JournalSocketStub(path)
        let queue = LogQueue(sink: JournalSink(path: path))
        let logger = Logger(queue: queue, level: .debug)
        logger.critical("1")
        logger.error("2")
        logger.warning("3")
        logger.notice("4")
        logger.info("5")
        logger.debug("6")
        queue.close()
        #expect(journal.all().flatMap { $0["PRIORITY"] ?? [] } == ["2", "3", "4", "5", "6", "7"])
    }

    @Test func `a text of several lines is one field of one entry`() throws {
        let journal = try JournalSocketStub(path)
        JournalSink(path: path).write(
            ["first\nPRIORITY=0", "second"],
            level: .error,
            message: "the configuration was refused"
        )
        let entry = try #require(journal.next())
        #expect(entry["MESSAGE"] == ["first\nPRIORITY=0"])
        #expect(entry["PRIORITY"] == ["3"])
        #expect(try #require(journal.next())["MESSAGE"] == ["second"])
    }

    @Test func `what is too large for a datagram comes as a sealed file`() throws {
        let journal = try JournalSocketStub(path)
        let queue = LogQueue(sink: JournalSink(path: path, bufferSize: 1))
        // The smallest buffer that the kernel gives takes less than this.
        let long = String(repeating: "x", count: 1_000)
        let logger = Logger(queue: queue, level: .info)
        logger.log(.info, "long", (0..<8).map { _ in LogField(.error, long) })
        queue.close()
        let entry = try #require(journal.next())
        #expect(entry["ERROR"] == [String](repeating: long, count: 8))
        #expect(journal.files == 1)
        #expect(journal.sealed == 1)
    }

    @Test func `a journal that hangs holds nobody up, and then gets what waited`() throws {
        let journal = try JournalSocketStub(path)
        let queue = LogQueue(sink: JournalSink(path: path), limit: 50)
        let logger = Logger(queue: queue, level: .info)
        let start = SystemClock.now
        for number in 0..<20_000 { logger.info("line", LogField(.count, number)) }
        logger.error("the grave one")
        #expect(SystemClock.now - start < .seconds(10))
        var entries: [[String: [String]]] = []
        func isOfDropped(_ entry: [String: [String]]) -> Bool {
            entry["MESSAGE"]?.first?.hasPrefix("log lines were dropped") == true
        }
        var lines: Int { entries.count { $0["MESSAGE"]?.first?.hasPrefix("line ") == true } }
        var dropped: Int {
            entries.filter(isOfDropped).compactMap { $0["COUNT"]?.first.flatMap { Int($0) } }.reduce(0, +)
        }
        while lines + dropped < 20_000 { entries += try journal.waitForMore() }
        queue.close()
        #expect(lines + dropped == 20_000)
        // The oldest ones came, the grave one had its place, and the rest is counted.
        #expect(entries.first?["COUNT"] == ["0"])
        #expect(entries.contains { $0["MESSAGE"] == ["the grave one"] })
        #expect(entries.first(where: isOfDropped)?["MESSAGE_ID"] != nil)
    }

    @Test func `a journal that hangs does not keep the process from ending`() throws {
        let journal = try JournalSocketStub(path)
        let queue = LogQueue(sink: JournalSink(path: path))
        let logger = Logger(queue: queue, level: .info)
        for number in 0..<2_000 { logger.info("line", LogField(.count, number)) }
        let start = SystemClock.now
        queue.close(within: .milliseconds(50))
        #expect(SystemClock.now - start < .seconds(10))
        withExtendedLifetime(journal) {}
        // Frees the thread.
        unlink(path)
    }

    @Test func `a journal that is stopped and started again gets the next lines`() throws {
        var journal = try JournalSocketStub(path)
        let queue = LogQueue(sink: JournalSink(path: path))
        let logger = Logger(queue: queue, level: .info)
        logger.info("one")
        #expect(try journal.waitForMore().first?["MESSAGE"] == ["one"])
        unlink(path)
        journal = try JournalSocketStub(path)
        logger.info("two")
        #expect(try journal.waitForMore().first?["MESSAGE"] == ["two"])
        queue.close()
    }

    @Test func `standard error is the journal only where JOURNAL_STREAM says so`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("JOURNAL_STREAM")
            #expect(JournalSink.detected() == nil)
            var status = stat()
            fstat(STDERR_FILENO, &status)
            setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino)", 1)
            #expect(JournalSink.detected() != nil)
            setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino + 1)", 1)
            #expect(JournalSink.detected() == nil)
            exit(0)
        }
    }
}
