package import RoomsRuntime

/// Why a room is not joined, or an operation in it failed.
public struct RoomError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, as apps tell it apart; the raw value is the `code` of a room's `error` event.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name, such as `forbidden`.
        public let rawValue: String

        /// Any code; those that an auth route makes up come through as they are.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// This user may not join the room, or not do that in it.
        public static let forbidden = Code(rawValue: "forbidden")
        /// Nobody has a rule for a room of that name.
        public static let noRule = Code(rawValue: "no_rule")
        /// The room, or every connection that could hold it, has no place left.
        public static let full = Code(rawValue: "full")
        /// The token was over, and so was the one that came after it.
        public static let expired = Code(rawValue: "expired")
        /// The server or the auth route does not know this user.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The room keeps no events.
        public static let noHistory = Code(rawValue: "no_history")
        /// An event, or an answer, is larger than the server or this client takes.
        public static let tooLarge = Code(rawValue: "too_large")
        /// The server or the auth route cannot be reached, or has trouble; it is tried again.
        public static let unavailable = Code(rawValue: "unavailable")
        /// The server does not take the name, or what was sent.
        public static let badRequest = Code(rawValue: "bad_request")
        /// A sealed event cannot be opened: its key is not there, or it was changed on the way.
        public static let sealed = Code(rawValue: "sealed")
        /// The server removed this user from the room.
        public static let kicked = Code(rawValue: "kicked")
        /// Events are missing: the server has them no more.
        public static let gap = Code(rawValue: "gap")
        /// A sequence of events was not read for so long that its oldest ones were dropped.
        public static let slowConsumer = Code(rawValue: "slow_consumer")
        /// The room was left.
        public static let left = Code(rawValue: "left")
    }

    /// What is wrong, for the app.
    public let code: Code
    /// For people: what happened, and where it is known what would be right; never holds a secret.
    public let message: String
    /// The protocol's code that it stands for, 0 for none.
    let protocolCode: UInt32

    /// An error with a message for people, which must not hold a secret.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
        protocolCode = 0
    }

    static let left = RoomError(.left, "the room was left")

    /// Code and message.
    public var description: String { message.isEmpty ? code.rawValue : "\(code.rawValue): \(message)" }

    /// The error that a code of the protocol stands for: of a reply, of a close, or of an unsubscribe.
    ///
    /// Design section 5 has the table; codes that are nobody's stand for `unavailable`.
    package init(protocolCode code: UInt32, reason: ByteString) {
        let name: Code =
            switch code {
            case 101, 3500: .unauthorized
            case 102: .noRule
            case 103, 3507: .forbidden
            case 106, 450, 3504, 3505: .full
            case 107, 3501: .badRequest
            case 108: .noHistory
            case 109, 110, 3005: .expired
            case 1009: .tooLarge
            case 2000..<2500, 3503, 4500..<5000: .kicked
            default: .unavailable
            }
        (self.code, message, protocolCode) = (name, "\(reason) (\(code))", code)
    }
}
