package import RoomsRuntime

/// What a token is for.
package enum TokenSubject: Hashable, Sendable {
    case connection
    case room(ByteString)
}

package struct TokenRequestID: Hashable, Comparable, Sendable {
    let number: UInt64

    package static func < (left: TokenRequestID, right: TokenRequestID) -> Bool { left.number < right.number }
}

/// What has come of a request: all of it, or a part.
package struct TokenAnswer: Equatable, Sendable {
    /// Nil when it was not asked for or comes in another part; no token means to connect anonymously.
    package var connection: Result<Secret?, RoomError>?
    package var rooms: [ByteString: Result<Grant, RoomError>]

    package init(
        connection: Result<Secret?, RoomError>? = nil,
        rooms: [ByteString: Result<Grant, RoomError>] = [:]
    ) {
        self.connection = connection
        self.rooms = rooms
    }

    subscript(_ subject: TokenSubject) -> Outcome? {
        get {
            switch subject {
            case .connection: connection.map { $0.map { Grant(token: $0) } }
            case .room(let name): rooms[name]
            }
        }
        set {
            switch subject {
            case .connection: connection = newValue.map { $0.map(\.token) }
            case .room(let name): rooms[name] = newValue
            }
        }
    }

    /// A connection's token counts as a grant without keys.
    typealias Outcome = Result<Grant, RoomError>
}
