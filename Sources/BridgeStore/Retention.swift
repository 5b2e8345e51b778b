/// Which rows go with the next commit.
struct Retention {
    private var rows: [Int64] = []

    var isEmpty: Bool { rows.isEmpty }

    mutating func release(_ row: Int64) {
        rows.append(row)
    }

    /// The ids released since the last call, as runs without a hole, in order.
    mutating func takeRuns() -> [ClosedRange<Int64>] {
        rows.sort()
        var runs: [ClosedRange<Int64>] = []
        for row in rows {
            if let last = runs.last, row <= last.upperBound + 1 {
                runs[runs.count - 1] = last.lowerBound...max(row, last.upperBound)
            } else {
                runs.append(row...row)
            }
        }
        rows.removeAll(keepingCapacity: true)
        return runs
    }

    mutating func forget() {
        rows.removeAll(keepingCapacity: true)
    }
}
