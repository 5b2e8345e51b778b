import BridgeModel
import RoomsRuntime
import Testing

@testable import BridgeStore

@Suite struct WriteBatchTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let lane = BridgeModel.Lane(endpoint: EndpointID(1), room: RoomID(1))

    private func records(_ count: Int, size: Int = 10) -> [AppendRecord] {
        let text = String(repeating: "x", count: size)
        return (0..<count).map { Sample.append(RoomID(1), UInt64($0), route: nil, payload: text) }
    }

    private func settlements(_ count: Int) -> [Settlement] {
        (0..<count).map { Settlement(lane: lane, row: RowID(Int64($0)), seq: Int64($0)) }
    }

    @Test("with nothing waiting no commit is due")
    func nothing() {
        #expect(WriteBatch().due() == nil)
    }

    @Test("the first event after a pause is due at once")
    func firstAtOnce() {
        var batch = WriteBatch()
        batch.add(records(1))
        #expect(batch.due().map { $0 <= start } == true)
    }

    @Test("while busy, commits start 2 ms apart")
    func spacing() {
        var batch = WriteBatch()
        batch.add(records(1))
        _ = batch.next(now: start)
        _ = batch.committed()
        batch.add(records(1))
        #expect(batch.due() == start + .milliseconds(2))
    }

    @Test("a whole group is not held back", arguments: [(1_000, 10), (4, 300_000)])
    func wholeGroup(count: Int, size: Int) {
        var batch = WriteBatch()
        batch.add(records(1))
        _ = batch.next(now: start)
        _ = batch.committed()
        batch.add(records(count, size: size))
        #expect(batch.due().map { $0 <= start } == true)
    }

    @Test("settlements alone wait up to 20 ms, unless there are a thousand")
    func settlementsAlone() {
        var batch = WriteBatch()
        batch.add(settlements(1), now: start)
        batch.add(settlements(1), now: start + .milliseconds(15))
        #expect(batch.due() == start + .milliseconds(20))
        batch.add(settlements(998), now: start + .milliseconds(16))
        #expect(batch.due().map { $0 <= start } == true)
    }

    @Test("an event takes the settlements along")
    func company() {
        var batch = WriteBatch()
        batch.add(settlements(3), now: start)
        batch.add(records(1))
        #expect(batch.due().map { $0 <= start } == true)
        let group = batch.next(now: start)
        #expect(group.records.count == 1)
        #expect(group.settlements.count == 3)
    }

    @Test("a group ends at 1,000 rows or at 1 MiB, and the next goes on behind it")
    func bounds() {
        var batch = WriteBatch()
        batch.add(records(1_500))
        let group1 = batch.next(now: start)
        #expect(group1.records.count == 1_000)
        let group2 = batch.committed()
        #expect(group2 == 1_000 * 266)
        let rest = batch.next(now: start).records
        #expect(rest.count == 500)
        #expect(rest.first?.position?.offset == 1_000)
        let group3 = batch.committed()
        #expect(group3 == 500 * 266)
        #expect(batch.isEmpty)
        batch.add(records(10, size: 300_000))
        let group4 = batch.next(now: start)
        #expect(group4.records.count == 4)
    }

    @Test("what came in while a group was committed stays")
    func lateComers() {
        var batch = WriteBatch()
        batch.add(records(2))
        batch.add(settlements(2), now: start)
        _ = batch.next(now: start)
        batch.add(records(3))
        batch.add(settlements(1), now: start)
        _ = batch.committed()
        let next = batch.next(now: start)
        #expect(next.records.count == 3)
        #expect(next.settlements.count == 1)
    }

    @Test("after a full disk the same group is tried a second later")
    func postponed() {
        var batch = WriteBatch()
        batch.add(records(2_000))
        let group = batch.next(now: start).records.count
        batch.postpone(now: start)
        #expect(batch.due() == start + .seconds(1))
        batch.add(records(1))
        #expect(batch.due() == start + .seconds(1))
        let again = batch.next(now: start + .seconds(1)).records.count
        #expect(again == group)
        _ = batch.committed()
        #expect(batch.due().map { $0 <= start } == true)
    }

    @Test("while the disk is full, of many settlements the last of each lane is kept")
    func manySettlements() {
        var batch = WriteBatch()
        batch.add(settlements(1), now: start)
        _ = batch.next(now: start)
        batch.postpone(now: start)
        let other = Settlement(lane: Lane(endpoint: EndpointID(2), room: RoomID(1)), row: RowID(5), seq: 5)
        batch.add([other], now: start)
        batch.add(settlements(20_000), now: start)
        let kept = batch.next(now: start).settlements
        #expect(kept.map(\.row.rawValue).sorted() == [5, 19_999])
        _ = batch.committed()
        #expect(batch.isEmpty)
    }
}
