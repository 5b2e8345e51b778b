/// A queue in one block of memory that grows as needed; taking from the front costs no moves.
struct RingBuffer<Element> {
    private var slots: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var first: Element? { isEmpty ? nil : slots[head] }

    subscript(index: Int) -> Element {
        guard index < count, let element = slots[(head + index) & (slots.count - 1)] else {
            preconditionFailure("there is no element \(index) among \(count)")
        }
        return element
    }

    mutating func append(_ element: Element) {
        if count == slots.count { grow() }
        slots[(head + count) & (slots.count - 1)] = element
        count += 1
    }

    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = (head + 1) & (slots.count - 1)
        count -= 1
        // The memory of a burst goes when it is over; a few slots stay, for a queue that runs from hand to mouth.
        if count == 0, slots.count > 16 { self = RingBuffer() }
        return element
    }

    /// Drops all but the first elements, and the memory with them.
    mutating func keepFirst(_ count: Int) {
        var kept = RingBuffer()
        while kept.count < count, let element = popFirst() { kept.append(element) }
        self = kept
    }

    /// The size is a power of two, so that positions wrap by a mask.
    private mutating func grow() {
        let size = max(2, slots.count * 2)
        var larger: [Element?] = []
        larger.reserveCapacity(size)
        for index in 0..<count { larger.append(slots[(head + index) & (slots.count - 1)].take()) }
        while larger.count < size { larger.append(nil) }
        head = 0
        slots = larger
    }
}
