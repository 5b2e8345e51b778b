/// How an app reaches its rooms.
public struct RealtimeOptions: Sendable {
    /// A token for one room, given beforehand, and the keys of its sealed events.
    public struct Grant: Sendable {
        /// The server's token for the room; empty: the room needs none.
        public var token: String
        /// 32 bytes each, by key id.
        public var keys: [String: [UInt8]]

        /// A grant as the app's server gives it.
        public init(token: String, keys: [String: [UInt8]] = [:]) {
            self.token = token
            self.keys = keys
        }
    }

    /// How grave a line of the log is, gravest first.
    public enum LogLevel: String, Hashable, Sendable, CaseIterable {
        /// Somebody has to act.
        case error
        /// Something is not as it should be, and heals by itself.
        case warning
        /// A part of the client began or ended.
        case notice
        /// A state changed.
        case info
        /// For who looks for a fault.
        case debug
    }

    /// The URL of the app's auth route, asked once for all rooms that are joined in the same moment; nil: rooms are
    /// joined with `grants`, or without a token.
    public var auth: String?
    /// The headers of requests to the auth route; asked for before each one.
    public var headers: @Sendable () async throws -> [String: String] = { [:] }
    /// The connection token; nil: the auth route gives one, or the client connects without.
    public var token: String?
    /// Rooms that need no request, by name.
    public var grants: [String: Grant] = [:]
    /// Keys of sealed events in any room, 32 bytes each, by key id.
    public var keys: [String: [UInt8]] = [:]
    /// How long an answer of the server may take, in seconds, before the connection is made anew.
    public var commandTimeout: Double = 5
    /// How long the auth route may take to answer, in seconds; as long again for `headers`.
    public var authTimeout: Double = 10
    /// How many rooms one connection holds before another one is made.
    public var roomsPerConnection = 100
    /// A file of certificates to trust in place of the system's.
    public var caFile: String?
    /// Hears what there is to say of connections, tokens and rooms, a line for each change; nil: nobody does.
    ///
    /// Called on a thread of its own, one line after another. A line never holds a secret or anything that was published;
    /// what came from outside is escaped in it.
    public var log: (@Sendable (_ level: LogLevel, _ line: String) -> Void)?

    /// No auth route, no grants, the defaults for the rest.
    public init() {}
}
