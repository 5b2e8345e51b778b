import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

@Suite struct HistoryTests {
    struct Page: Sendable, CustomStringConvertible {
        var since: UInt64?
        var limit: Int
        var isReverse = false
        var expected: [UInt64]

        var description: String { "since \(since as Any), limit \(limit), reverse \(isReverse)" }
    }

    /// Size 10 and 23 publications: 14 to 23 are left.
    private func trimmed() -> History {
        var history = History(size: 10, keep: .seconds(60), epoch: "abcdefgh")
        for number in 1...23 { append("\(number)", to: &history) }
        return history
    }

    private func append(_ text: String, to history: inout History, at now: Instant = Instant(nanoseconds: 1)) {
        var publication = Publication(data: Payload(text))
        history.append(&publication, at: now)
    }

    @Test(
        "pages of a trimmed history",
        arguments: [
            Page(since: nil, limit: 0, expected: []), Page(since: nil, limit: 3, expected: [14, 15, 16]),
            Page(since: 3, limit: 300, expected: Array(14...23)), Page(since: 13, limit: 1, expected: [14]),
            Page(since: 14, limit: 2, expected: [15, 16]), Page(since: 22, limit: 9, expected: [23]),
            Page(since: 23, limit: 9, expected: []), Page(since: 99, limit: 9, expected: []),
            Page(since: .max, limit: 9, expected: []), Page(since: 0, limit: 2, expected: [14, 15]),
            Page(since: nil, limit: 2, isReverse: true, expected: [23, 22]),
            Page(since: 20, limit: 2, isReverse: true, expected: [19, 18]),
            Page(since: 16, limit: 9, isReverse: true, expected: [15, 14]),
            Page(since: 14, limit: 9, isReverse: true, expected: []),
            Page(since: 3, limit: 9, isReverse: true, expected: []),
            Page(since: 24, limit: 2, isReverse: true, expected: [23, 22]),
            Page(since: 25, limit: 2, isReverse: true, expected: []),
            Page(since: .max, limit: 1, isReverse: true, expected: []),
            Page(since: nil, limit: .max, expected: Array(14...23)),
        ]
    )
    func pages(_ page: Page) {
        let found = trimmed().page(since: page.since, limit: page.limit, isReverse: page.isReverse)
        #expect(found.map(\.offset) == page.expected)
        #expect(found.map { ByteString($0.data.array).string } == page.expected.map { "\($0)" })
    }

    @Test("what was kept long enough is gone, but epoch and top stay, and the next offset follows")
    func expires() {
        var history = trimmed()
        history.expire(at: Instant(nanoseconds: 60_000_000_000))
        #expect(history.count == 10)
        history.expire(at: Instant(nanoseconds: 60_000_000_001))
        #expect(history.count == 0)
        #expect(history.position == StreamPosition(offset: 23, epoch: "abcdefgh"))
        for number in 24...40 { append("\(number)", to: &history, at: Instant(nanoseconds: 60_000_000_002)) }
        #expect(history.page(since: nil, limit: 99, isReverse: false).map(\.offset) == Array(31...40))
        #expect(history.recover(from: history.position, limit: 300) == [])
    }

    @Test("each publication puts the end of the others off")
    func keepCountsFromTheLast() {
        var history = History(size: 3, keep: .seconds(1), epoch: "e")
        append("1", to: &history, at: Instant(nanoseconds: 0))
        append("2", to: &history, at: Instant(nanoseconds: 900_000_000))
        history.expire(at: Instant(nanoseconds: 1_800_000_000))
        #expect(history.count == 2)
        append("3", to: &history, at: Instant(nanoseconds: 1_900_000_000))
        #expect(history.page(since: nil, limit: 9, isReverse: false).map(\.offset) == [3])
    }

    @Test("a history of size 0 keeps nothing and gives no offset")
    func sizeZero() {
        var history = History(size: 0, keep: .seconds(1), epoch: "e")
        var publication = Publication(data: Payload("1"))
        history.append(&publication, at: Instant(nanoseconds: 0))
        #expect(publication.offset == 0)
        #expect(history.position == StreamPosition(offset: 0, epoch: "e"))
        #expect(history.recover(from: StreamPosition(offset: 0, epoch: .empty), limit: 300) == [])
    }
}
