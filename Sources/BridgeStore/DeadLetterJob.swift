internal import BridgeModel
internal import BridgeSQLite
internal import RoomsRuntime

/// One request of an operator, a slice at a time between two commits.
final class DeadLetterJob {
    private static let sliceRows = 500
    /// Of one page; one letter is always given, whatever its size.
    private static let pageBytes = 1 << 20

    private let request: DeadLetterRequest
    private let selection: DeadLetterSelection
    private let endpoint: EndpointID?
    private let rooms: Set<RoomID>?
    private var cursor: Int64
    private let last: Int64
    private var count = 0
    private var found: [StoredDeadLetter] = []
    private var bytes = 0

    init(_ request: DeadLetterRequest, _ ledger: Ledger) {
        self.request = request
        var after: Int64 = 0
        switch request {
        case .page(let selection, let start, _): (self.selection, after) = (selection, start)
        case .retry(let selection, _, _), .purge(let selection): self.selection = selection
        }
        let numbers = selection.numbers
        cursor = max(after, (numbers?.min() ?? 1) - 1)
        last = numbers.map { $0.max() ?? 0 } ?? .max
        endpoint = selection.endpoint.flatMap { name in ledger.endpointNames.first { $0.value == name }?.key }
        rooms = selection.room.map { name in
            Set(ledger.catalog.rooms.lazy.filter { $0.key.room == name }.map(\.id))
        }
    }

    /// An answer when it has come to its end.
    func advance(_ ledger: Ledger) throws(SQLiteError) -> DeadLetterAnswer? {
        if let name = selection.endpoint, endpoint == nil { return .unknownEndpoint(name) }
        var numbers: [Int64] = []
        var looked = 0
        let start = cursor
        try ledger.letters.keysFrom.query {
            $0.set(1, start)
        } _: { (row) throws(SQLiteError) in
            guard looked < Self.sliceRows, row.integer(0) <= last else { return false }
            looked += 1
            cursor = row.integer(0)
            if matches(row) { numbers.append(row.integer(0)) }
            return true
        }
        let isAtEnd = looked < Self.sliceRows
        switch request {
        case .page(_, _, let limit):
            for number in numbers {
                guard let letter = try ledger.deadLetter(number) else { continue }
                guard found.count < limit, found.isEmpty || bytes + letter.delivery.bytes <= Self.pageBytes else {
                    return .page(found, next: number - 1)
                }
                bytes += letter.delivery.bytes
                found.append(letter)
            }
            if isAtEnd { return .page(found, next: nil) }
            return found.isEmpty ? nil : .page(found, next: cursor)
        case .retry(_, let run, let inOrder):
            try ledger.retry(numbers, run: run, inOrder: inOrder)
        case .purge:
            try ledger.purge(numbers)
        }
        count += numbers.count
        return isAtEnd ? .changed(count) : nil
    }

    /// What an operator changed is in the journal.
    func report(_ answer: DeadLetterAnswer, _ logger: Logger) {
        guard case .changed(let count) = answer, count > 0 else { return }
        var fields = [LogField(.count, count)]
        if let endpoint = selection.endpoint { fields.append(LogField(.endpoint, endpoint)) }
        if let room = selection.room { fields.append(LogField(.room, room)) }
        switch request {
        case .page: break
        case .retry(_, let run, _):
            logger.log(.notice, "an operator sends dead letters again", fields + [LogField(.run, run)])
        case .purge:
            logger.log(.notice, "an operator removed dead letters", fields)
        }
    }

    private func matches(_ row: Row) -> Bool {
        if let numbers = selection.numbers, !numbers.contains(row.integer(0)) { return false }
        if let endpoint, row.integer(1) != endpoint.rawValue { return false }
        return rooms?.contains(RoomID(row.integer(2))) ?? true
    }
}
