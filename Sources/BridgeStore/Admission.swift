/// Whether more events may come in.
///
/// Closed while the writer's inbox is above its limit (until it is half empty), while the rows on disk have reached the
/// size the operator set (until they are below 0.9 of it), and while the disk is full.
///
/// What is held by endpoints whose rooms are left is no part of that: they hold it for as long as they are down. The others
/// go on with what is left to them, and where those have taken it all (some of it was on its way when their rooms were left)
/// with a twentieth more.
struct Admission: Sendable {
    let inboxLimit: Int
    let maxSize: Int

    /// Bytes handed in and not committed.
    private(set) var queued = 0
    private var isInboxFull = false
    /// The rows on disk have reached the size the operator set.
    private(set) var isBufferFull = false
    private(set) var isDiskFull = false
    /// What the other side was told last.
    private var isToldOpen = true

    init(inboxLimit: Int, maxSize: Int) {
        self.inboxLimit = inboxLimit
        self.maxSize = maxSize
    }

    var isOpen: Bool { !isInboxFull && !isBufferFull && !isDiskFull }

    /// What was handed in is always taken; false: nothing more for now.
    mutating func handIn(_ bytes: Int) -> Bool {
        queued += bytes
        if queued > inboxLimit { isInboxFull = true }
        if !isOpen { isToldOpen = false }
        return isOpen
    }

    mutating func took(_ bytes: Int) {
        queued -= bytes
        if queued <= inboxLimit / 2 { isInboxFull = false }
    }

    /// `crowded`: what is held by endpoints whose rooms are left.
    mutating func stored(_ waitingBytes: Int64, crowded: Int64 = 0) {
        let held = min(crowded, waitingBytes)
        let size = Int64(maxSize)
        let reserve = size / 20
        let others = waitingBytes - held
        if waitingBytes >= size + reserve || (waitingBytes >= size && others >= reserve) {
            isBufferFull = true
        } else if Double(others) < 0.9 * Double(size - held) || others < reserve / 2 {
            isBufferFull = false
        }
    }

    mutating func diskIsFull(_ isFull: Bool) {
        isDiskFull = isFull
    }

    /// What is to be said now, nil when it was said already.
    mutating func takeNews() -> Bool? {
        guard isOpen != isToldOpen else { return nil }
        isToldOpen = isOpen
        return isOpen
    }
}
