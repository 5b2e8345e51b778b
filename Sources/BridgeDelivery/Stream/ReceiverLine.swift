internal import RoomsRuntime
internal import RoomsWire

/// What a receiver behind a stream socket says in one line.
enum ReceiverLine: Equatable {
    case hello(ReceiverHello)
    /// All up to this one but those that were answered otherwise.
    case acceptedAll(upTo: UInt64)
    /// These and no others.
    case accepted([UInt64])
    /// The oldest in flight.
    case acceptedOldest
    /// Later, please; nil: whenever it suits us.
    case later(UInt64, Duration?, reason: String)
    /// Never again.
    case never(UInt64, reason: String)
    case working(UInt64)
    case pause(Duration)
    case credit(UInt64)
    case ping
    case pong
    case bye
    /// Of a later version.
    case unknown

    /// A reason of the receiver's is cut here: it goes to the journal.
    private static let longestReason = 200

    /// A line of `ack: "line"`: `ok`, or the number of the line it answers.
    ///
    /// Nil for anything else.
    init?(answer line: [UInt8]) {
        let text = line.trimmed
        if text.elementsEqual("ok".utf8) {
            self = .acceptedOldest
        } else if let number = Self.number(text) {
            self = .accepted([number])
        } else {
            return nil
        }
    }

    /// A line of the protocol; nil for what is none.
    init?(message line: [UInt8]) {
        guard let root = try? JSONDocument.parse(line).root, let op = root["op"]?.string,
            let message = Self.message(op, root)
        else { return nil }
        self = message
    }

    private static func message(_ op: ByteString, _ root: JSONNode) -> ReceiverLine? {
        switch op {
        case "hello": ReceiverHello(root).map { .hello($0) }
        case "ack": acknowledgement(root)
        case "nack":
            number(root["n"]).flatMap { number in
                guard let asked = root["delay_ms"] else { return .later(number, nil, reason: reason(root)) }
                return milliseconds(asked).map { .later(number, $0, reason: reason(root)) }
            }
        case "term": number(root["n"]).map { .never($0, reason: reason(root)) }
        case "wip": number(root["n"]).map { .working($0) }
        case "pause": milliseconds(root["ms"]).map { .pause($0) }
        case "credit": number(root["n"]).map { .credit($0) }
        case "ping": .ping
        case "pong": .pong
        case "bye": .bye
        default: .unknown
        }
    }

    private static func acknowledgement(_ root: JSONNode) -> ReceiverLine? {
        if let list = root["ns"] {
            guard let elements = list.elements else { return nil }
            let numbers = elements.compactMap { number($0) }
            return numbers.count == elements.count ? .accepted(numbers) : nil
        }
        return number(root["n"]).map { .acceptedAll(upTo: $0) }
    }

    private static func number(_ node: JSONNode?) -> UInt64? {
        node?.integer(as: UInt64.self)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        guard (1...19).contains(digits.count), digits.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return digits.reduce(0) { $0 * 10 + UInt64($1 - 0x30) }
    }

    /// Above a year it is a year.
    private static func milliseconds(_ node: JSONNode?) -> Duration? {
        number(node).map { .milliseconds(Int64(clamping: min($0, 31_536_000_000))) }
    }

    private static func reason(_ root: JSONNode) -> String {
        root["reason"]?.string.map { String($0.string.prefix(longestReason)) } ?? ""
    }
}

/// What a receiver says of itself.
struct ReceiverHello: Equatable {
    var version: UInt64 = 1
    var window = StreamSettings.window
    /// The longest line it reads.
    var longestLine = Int.max
    /// How many lines it wants for now; nil: it does not count.
    var credit: UInt64?
    /// What it has of each room already, by the room's name.
    var resume: [ByteString: Int64] = [:]
    /// The store whose seqs `resume` speaks of.
    var store: ByteString?

    /// One that says nothing.
    init() {}

    init?(_ root: JSONNode) {
        if let node = root["v"] {
            guard let number = node.integer(as: UInt64.self) else { return nil }
            version = number
        }
        if let node = root["window"] {
            guard let number = node.integer(as: Int64.self), number >= 1 else { return nil }
            window = Int(clamping: min(number, Int64(StreamSettings.window)))
        }
        if let node = root["max_line"] {
            guard let number = node.integer(as: Int64.self), number >= 1 else { return nil }
            longestLine = Int(clamping: number)
        }
        if let node = root["credit"] {
            guard let number = node.integer(as: UInt64.self) else { return nil }
            credit = number
        }
        store = root["store"]?.string
        guard let node = root["resume"] else { return }
        guard let members = node.members else { return nil }
        for member in members {
            guard let seq = member.value.integer(as: Int64.self) else { return nil }
            resume[member.key] = seq
        }
    }
}

extension [UInt8] {
    /// Without spaces and carriage returns around it.
    fileprivate var trimmed: ArraySlice<UInt8> {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d }
        let front = drop(while: isBlank)
        guard let last = front.lastIndex(where: { !isBlank($0) }) else { return [] }
        return front[...last]
    }
}
