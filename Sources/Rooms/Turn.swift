internal import RoomsRuntime
internal import RoomsWire

/// One turn of the machines: the moment it happens at, and what comes out of it.
struct Turn {
    let now: Instant
    /// Milliseconds since 1970, to notice that the machine slept.
    let wall: Int64
    let random: () -> UInt64

    var items: [SinkItem] = []
    /// To be sent in this order.
    var commands: [Command] = []
    /// To be done in this order, after the items are handed on and before the commands are sent.
    var actions: [ConnectionAction] = []
    var lines: [LogLine] = []
    var tally = Tally()

    init(now: Instant, wall: Int64, random: @escaping () -> UInt64) {
        self.now = now
        self.wall = wall
        self.random = random
    }

    mutating func log(_ level: LogLevel, _ message: StaticString, _ fields: LogField...) {
        lines.append(LogLine(level: level, message: message, fields: fields))
    }
}

enum ConnectionAction: Equatable {
    /// Open a socket; everything that comes of it carries this generation.
    case dial(generation: UInt64)
    /// Close the present socket; nothing of it is wanted any more.
    case close(code: UInt16, reason: StaticReason)
    /// Ask the server's API.
    case ask(HistoryQuestion)
    case pauseReading
    case resumeReading
}

/// What we tell the server when we close.
enum StaticReason: String {
    case none = ""
    case intakePaused = "intake paused"
    case refused = "connect refused"
    case noPing = "no ping"
    case noAnswer = "no answer"
    case confused = "unexpected answer"
    case undecodable = "undecodable message"
    case rejoining = "joining again"
    case toldToLeave = "told to disconnect"
}

struct LogLine {
    var level: LogLevel
    var message: StaticString
    var fields: [LogField]
}

/// What is only counted.
package struct Tally: Sendable, Equatable {
    /// Events that were handed on before (same epoch, offset not above the position).
    package var duplicates: UInt64 = 0
    /// Messages of a subscription or a command that is over.
    package var late: UInt64 = 0
    /// Replies and pushes that this client does not know.
    package var unknown: UInt64 = 0
    /// Live events that were let go while older ones were fetched; history brought them.
    package var refetched: UInt64 = 0

    package init() {}

    static func += (left: inout Tally, right: Tally) {
        left.duplicates &+= right.duplicates
        left.late &+= right.late
        left.unknown &+= right.unknown
        left.refetched &+= right.refetched
    }
}
