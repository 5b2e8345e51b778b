internal import RoomsRuntime

/// One turn of the machine that asks the auth route: the moment it happens at, and what comes out of it.
struct AuthTurn {
    let now: Instant
    /// Milliseconds since 1970.
    let wall: Int64
    let random: () -> UInt64

    /// To be done in this order.
    var actions: [AuthAction] = []
    var lines: [LogLine] = []

    init(now: Instant, wall: Int64, random: @escaping () -> UInt64) {
        self.now = now
        self.wall = wall
        self.random = random
    }
}

enum AuthAction: Equatable {
    case send(flight: UInt64, AuthRequest)
    /// Nobody waits for its answer any more.
    case abort(flight: UInt64)
    /// `isLast`: everything that was asked for has been answered.
    case answer(TokenRequestID, TokenAnswer, isLast: Bool)
}
