/// What a settlement must know of a row.
struct RowFacts {
    var row: Int64
    /// A place in the catalog.
    var room: Int
    var route: Int64
    var prev: Int64
    var size: Int64
}

/// The facts of rows that went out lately, so that most settlements read nothing.
///
/// One place per id modulo the size: a newer row takes the place of an older one. As many as an endpoint keeps in memory.
struct RowCache {
    private static let size = 16_384
    private var facts = [RowFacts](
        repeating: RowFacts(row: 0, room: 0, route: 0, prev: 0, size: 0),
        count: RowCache.size
    )

    mutating func put(_ row: RowFacts) {
        facts[Int(row.row) & (Self.size - 1)] = row
    }

    func facts(of row: Int64) -> RowFacts? {
        let found = facts[Int(row) & (Self.size - 1)]
        return found.row == row ? found : nil
    }
}
