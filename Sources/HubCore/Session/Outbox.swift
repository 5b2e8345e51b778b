internal import RoomsWire

/// Messages of one connection that wait for their frames: encoded back to back, with up to 16 to a frame, and no more
/// than 1 MiB unless a single message is larger.
///
/// In JSON a line feed stands behind each message, and the one behind the last of a frame is left out when the frame is
/// taken.
struct Outbox {
    private let messagesPerFrame: Int
    private let terminator: UInt8?
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

    init(format: WireFormat, messagesPerFrame: Int = 16) {
        self.messagesPerFrame = messagesPerFrame
        terminator = format == .json ? UInt8(ascii: "\n") : nil
    }

    /// Bytes that wait.
    var count: Int { bytes.count - start }

    /// False, and nothing changed, when `encode` says so.
    @discardableResult
    mutating func append(_ encode: (inout [UInt8]) -> Bool) -> Bool {
        let before = bytes.count
        guard encode(&bytes) else { return false }
        if let terminator { bytes.append(terminator) }
        if openCount > 0, bytes.count - openStart > Self.bytesPerFrame { endFrame(at: before) }
        openCount += 1
        if openCount == messagesPerFrame { endFrame(at: bytes.count) }
        return true
    }

    private mutating func endFrame(at end: Int) {
        ends.append(end)
        openStart = end
        openCount = 0
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
        let frame = Array(bytes[start..<(terminator == nil ? end : end - 1)])
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
