package import RoomsRuntime
package import RoomsWire

/// The stream of one room: epoch, offset of the last publication, and the last publications themselves.
package struct History {
    package private(set) var size: Int
    package private(set) var keep: Duration
    package let epoch: ByteString
    /// Offset of the last publication; 0 before the first.
    package private(set) var top: UInt64 = 0
    /// The publications up to `top` at consecutive places of a ring.
    private var ring: [Publication] = []
    /// The offset whose publication stands at place 0 of the ring.
    private var base: UInt64 = 1
    private var deadline = Instant.distantFuture

    package init(size: Int, keep: Duration, epoch: ByteString) {
        self.size = size
        self.keep = keep
        self.epoch = epoch
    }

    package var count: Int { ring.count }
    package var position: StreamPosition { StreamPosition(offset: top, epoch: epoch) }
    private var oldest: UInt64 { top - UInt64(ring.count) + 1 }

    /// Gives `publication` the next offset and keeps it, in place of the oldest when there is no room.
    ///
    /// A stream of size 0 keeps nothing and gives no offsets.
    package mutating func append(_ publication: inout Publication, at now: Instant) {
        guard size > 0 else { return }
        expire(at: now)
        top += 1
        publication.offset = top
        if ring.count < size {
            ring.append(publication)
        } else {
            ring[place(of: top)] = publication
        }
        deadline = now + keep
    }

    /// Drops everything once `keep` has passed since the last publication; epoch and top stay.
    package mutating func expire(at now: Instant) {
        if now >= deadline { removeAll() }
    }

    package mutating func removeAll() {
        ring = []
        base = top + 1
        deadline = .distantFuture
    }

    /// Leaves `count` offsets out, and drops what stands before them: nobody can go on from there.
    mutating func skip(_ count: UInt64) {
        let (sum, overflow) = top.addingReportingOverflow(count)
        // Far from the end, so that the next offset is always one more.
        top = overflow ? .max / 2 : min(sum, .max / 2)
        removeAll()
    }

    /// Forgets what came after `offset`.
    mutating func goBack(to offset: UInt64) {
        guard offset < top else { return }
        let kept = page(since: nil, limit: size, isReverse: false).filter { $0.offset <= offset }
        top = offset
        ring = kept
        base = top - UInt64(ring.count) + 1
    }

    /// Keeps another number of publications, or for another time; the newest stay.
    package mutating func resize(to size: Int, keep: Duration, at now: Instant) {
        expire(at: now)
        if keep != self.keep, deadline != .distantFuture { deadline = now + keep }
        self.keep = keep
        guard size != self.size else { return }
        let kept = page(since: nil, limit: size, isReverse: true)
        self.size = size
        ring = kept.reversed()
        base = top - UInt64(ring.count) + 1
    }

    /// At most `limit` publications: upwards from behind `since`, or downwards from before it.
    ///
    /// Without `since` from the oldest, or the newest. What was trimmed is not mentioned, and whoever is ahead of the
    /// stream gets nothing.
    package func page(since: UInt64?, limit: Int, isReverse: Bool) -> [Publication] {
        guard limit > 0, !ring.isEmpty else { return [] }
        if isReverse {
            if let since, since <= oldest || since - 1 > top { return [] }
            let first = since.map { $0 - 1 } ?? top
            let count = min(UInt64(limit), first - oldest + 1)
            return (0..<count).map { ring[place(of: first - $0)] }
        }
        if let since, since >= top { return [] }
        let first = max(oldest, (since ?? 0) + 1)
        let count = min(UInt64(limit), top - first + 1)
        return (0..<count).map { ring[place(of: first + $0)] }
    }

    /// Everything after `position`, or nil when that is not certain: another epoch, something trimmed, more than
    /// `limit`, or a position ahead of the stream.
    package func recover(from position: StreamPosition, limit: Int) -> [Publication]? {
        guard position.epoch.isEmpty || position.epoch == epoch else { return nil }
        let missed = page(since: position.offset, limit: limit, isReverse: false)
        guard let first = missed.first, let last = missed.last else { return top == position.offset ? [] : nil }
        return first.offset == position.offset + 1 && last.offset == top ? missed : nil
    }

    private func place(of offset: UInt64) -> Int {
        Int((offset - base) % UInt64(size))
    }
}
