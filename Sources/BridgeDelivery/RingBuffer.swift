/// A queue in one block of memory that grows as needed; taking from the front costs no moves.
struct RingBuffer<Element> {
    private var slots: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var first: Element? { isEmpty ? nil : slots[head] }

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
        return element
    }

    /// Drops all but the first element, and the memory with them.
    mutating func keepFirst() {
        let kept = popFirst()
        self = RingBuffer()
        if let kept { append(kept) }
    }

    /// The size is a power of two, so that positions wrap by a mask.
    private mutating func grow() {
        var larger: [Element?] = []
        larger.reserveCapacity(max(4, slots.count * 2))
        while let element = popFirst() { larger.append(element) }
        head = 0
        count = larger.count
        while larger.count < max(4, slots.count * 2) { larger.append(nil) }
        slots = larger
    }
}
