internal import BridgeModel
internal import BridgeSQLite

/// Hands dead letters that are to be sent again to the dispatcher, a few at a time; the others wait on disk.
///
/// Belongs to the writer.
final class RetryFeeder {
    /// Of one endpoint on their way.
    private static let most = 64
    private static let mostBytes = 4 << 20

    /// By endpoint and number, what each holds in memory.
    private var handed: [EndpointID: [Int64: Int]] = [:]
    /// Endpoints that may have more.
    private var open: Set<EndpointID>

    init(_ ledger: Ledger) {
        open = Set(ledger.deadLetters.keys)
    }

    /// Some were marked.
    func marked(_ ledger: Ledger) {
        open = Set(ledger.deadLetters.keys)
    }

    /// What was on its way and is committed.
    func settled(_ settlements: [Settlement]) {
        for settlement in settlements {
            guard let retry = settlement.retry else { continue }
            handed[settlement.lane.endpoint]?[retry.number] = nil
            open.insert(settlement.lane.endpoint)
        }
    }

    var hasWork: Bool { !open.isEmpty }

    func next(_ ledger: Ledger) throws(SQLiteError) -> [PendingDelivery] {
        var deliveries: [PendingDelivery] = []
        for endpoint in open.sorted() {
            var known = handed[endpoint] ?? [:]
            guard known.count < Self.most else { continue }
            var bytes = known.values.reduce(0, +)
            var fresh: [Int64] = []
            let found = try ledger.retriedLetters(of: endpoint) { delivery in
                guard let number = delivery.retry?.number, known[number] == nil else { return false }
                guard known.count < Self.most, bytes < Self.mostBytes else { return true }
                known[number] = delivery.bytes
                bytes += delivery.bytes
                fresh.append(number)
                return false
            }
            deliveries += found.filter { $0.retry.map { fresh.contains($0.number) } ?? false }
            handed[endpoint] = known
        }
        open = []
        return deliveries
    }
}
