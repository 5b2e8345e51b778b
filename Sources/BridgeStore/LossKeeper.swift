internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// Gives up what endpoints may lose: what is too much for the buffer, and what has waited too long.
///
/// Belongs to the writer; does a slice of the work at a time.
final class LossKeeper {
    /// Rows looked at between two commits.
    private static let sliceRows = 500
    /// How often an endpoint that goes on losing is told of.
    private static let reportInterval = Duration.seconds(60)

    private struct Endpoint {
        let id: EndpointID
        let rule: LossRule
        /// It waits for nothing below; nil: not known yet.
        var cursor: Int64?
        /// It is over its mark, and was not brought below it yet.
        var isShedding = false
        /// Lost since the last line.
        var unreported = 0
        var reportedAt: Instant?
    }

    private var endpoints: [Endpoint]
    private let ledger: Ledger
    private let marks: EndpointMarks
    private let logger: Logger
    private let ageStep: Duration?
    private let longestAge: Int64
    private var nextAge: Instant

    init(_ ledger: Ledger, size: Int, logger: Logger, now: Instant) {
        self.ledger = ledger
        self.logger = logger
        marks = EndpointMarks(size: size)
        endpoints = ledger.lossRules.filter { $0.value != .none }.sorted { $0.key < $1.key }
            .map { Endpoint(id: $0.key, rule: $0.value) }
        let ages = endpoints.compactMap { $0.rule.maxAge?.wholeMilliseconds }
        ageStep = ages.min().map { .milliseconds(max(1_000, $0 / 50)) }
        longestAge = ages.max() ?? 0
        nextAge = now
    }

    /// When `step` has something to do without a commit.
    var deadline: Instant? {
        guard ageStep != nil else { return nil }
        let isIdle = ledger.catalog.tally.waitingRows == 0
        return isIdle ? nil : nextAge
    }

    /// True while there is more to do at once; `told` gets what lanes have lost.
    func step(now: Instant, wall: Int64, told: ([PendingDelivery]) -> Void) throws(SQLiteError) -> Bool {
        try noteAge(now, wall)
        var isBusy = false
        for index in endpoints.indices {
            let bound = expired(endpoints[index], wall)
            let isShedding = isOver(index)
            guard bound > 0 || isShedding else { continue }
            guard let oldest = endpoints[index].cursor ?? ledger.oldestRow(of: endpoints[index].id) else { continue }
            let held = ledger.catalog.held[endpoints[index].id, default: 0]
            guard held > 0, isShedding || oldest < bound else { continue }
            let waiting = ledger.counts.waitingBytes
            let pass = try ledger.lose(
                endpoints[index].id,
                from: oldest,
                below: isShedding ? ledger.catalog.tally.nextRow : bound,
                limit: Self.sliceRows,
                at: wall
            ) { given in
                // What other endpoints wait for as well stays: then this is too little, and the next pass goes on.
                !isShedding || marks.isFar(held - given, waiting: waiting - given)
            }
            endpoints[index].cursor = pass.cursor
            endpoints[index].unreported += pass.rows
            if pass.isDone { endpoints[index].isShedding = false } else { isBusy = true }
            if !pass.deliveries.isEmpty { told(pass.deliveries) }
            report(index, now, isOverflow: isShedding)
        }
        return isBusy
    }

    private func isOver(_ index: Int) -> Bool {
        guard endpoints[index].rule.onOverflow else { return false }
        let held = ledger.catalog.held[endpoints[index].id, default: 0]
        if marks.isOver(held, waiting: ledger.counts.waitingBytes) { endpoints[index].isShedding = true }
        return endpoints[index].isShedding
    }

    /// The rows below it have waited too long.
    private func expired(_ endpoint: Endpoint, _ wall: Int64) -> Int64 {
        guard let age = endpoint.rule.maxAge?.wholeMilliseconds else { return 0 }
        return ledger.firstRow(committedAfter: wall - age)
    }

    private func noteAge(_ now: Instant, _ wall: Int64) throws(SQLiteError) {
        guard let ageStep, nextAge <= now else { return }
        nextAge = now + ageStep
        guard ledger.ages.last?.row ?? 0 < ledger.catalog.tally.nextRow else { return }
        try ledger.noteAge(at: wall, horizon: wall - longestAge)
    }

    private func report(_ index: Int, _ now: Instant, isOverflow: Bool) {
        let endpoint = endpoints[index]
        guard endpoint.unreported > 0, endpoint.reportedAt.map({ now - $0 >= Self.reportInterval }) ?? true else {
            return
        }
        logger.warning(
            "an endpoint loses its oldest events, as the configuration says; it gets a gap in their place",
            LogField(.endpoint, ledger.endpointNames[endpoint.id] ?? .empty),
            LogField(.reason, isOverflow ? "overflow" : "max_age"),
            LogField(.count, endpoint.unreported)
        )
        endpoints[index].unreported = 0
        endpoints[index].reportedAt = now
    }
}
