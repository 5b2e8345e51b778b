/// How many events of a room go out in one request.
package struct BatchLimits: Hashable, Sendable {
    package var maxEvents: Int
    /// Of the body; one event goes out whatever its size.
    package var maxBytes: Int
    /// How long the first event of a quiet room waits for company.
    package var linger: Duration

    package init(maxEvents: Int, maxBytes: Int = 1024 * 1024, linger: Duration = .zero) {
        self.maxEvents = maxEvents
        self.maxBytes = maxBytes
        self.linger = linger
    }
}

/// The ids of a batch's events in their order, as they stand in its body.
struct BatchIDs {
    private var text: [UInt8] = []
    private var ends: [Int] = []

    var count: Int { ends.count }

    subscript(index: Int) -> ArraySlice<UInt8> {
        text[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
    }

    mutating func append(_ id: [UInt8]) {
        text.append(contentsOf: id)
        ends.append(text.count)
    }

    mutating func removeAll() {
        text.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }
}
