/// Messages of one connection that wait for their frames: encoded back to back, with up to 16 to a frame, and no more
/// than 1 MiB unless a single message is larger.
struct Outbox {
    static let messagesPerFrame = 16
    /// A client that takes a message takes the frame it comes in.
    static let bytesPerFrame = 1 << 20
    /// Sent bytes that may stand before the waiting ones until they are dropped.
    private static let keptPrefix = 256 << 10

    private var bytes: [UInt8] = []
    private var start = 0
    /// Where the full frames end; what stands behind the last end is the frame that still takes messages.
    private var ends: [Int] = []
    private var nextEnd = 0
    private var openCount = 0
    private var openStart = 0

    /// Bytes that wait.
    var count: Int { bytes.count - start }

    mutating func append(_ encode: (inout [UInt8]) -> Void) {
        let before = bytes.count
        encode(&bytes)
        if openCount > 0, bytes.count - openStart > Self.bytesPerFrame { endFrame(at: before) }
        openCount += 1
        if openCount == Self.messagesPerFrame { endFrame(at: bytes.count) }
    }

    private mutating func endFrame(at end: Int) {
        ends.append(end)
        openStart = end
        openCount = 0
    }

    mutating func append(_ message: [UInt8]) {
        append { $0.append(contentsOf: message) }
    }

    /// Takes the next frame, the last one also when it is not full.
    mutating func takeFrame() -> [UInt8]? {
        let end: Int
        if nextEnd < ends.count {
            end = ends[nextEnd]
            nextEnd += 1
        } else {
            guard openCount > 0 else { return nil }
            end = bytes.count
            openStart = end
            openCount = 0
        }
        let frame = Array(bytes[start..<end])
        start = end
        if start == bytes.count {
            removeAll()
        } else if start > Self.keptPrefix, start > bytes.count / 2 {
            compact()
        }
        return frame
    }

    private mutating func compact() {
        bytes.removeSubrange(..<start)
        ends = ends[nextEnd...].map { $0 - start }
        openStart -= start
        nextEnd = 0
        start = 0
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
        ends.removeAll(keepingCapacity: true)
        start = 0
        nextEnd = 0
        openStart = 0
        openCount = 0
    }
}
