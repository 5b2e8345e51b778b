internal import RoomsRuntime
internal import RoomsWire

/// Rooms that the server put this client into, by its token or its API.
///
/// Those that somebody joined are joined by it, without a subscribe. The others are dropped: a client's rooms are those
/// it joined.
extension ConnectionStateMachine {
    /// The frame with it must stay under what servers take.
    private static let listedBytes = 32 * 1_024

    /// The positions that go with connect: of rooms that the server put us into before, and of no other, since for the
    /// server each is also the wish to be put into that room.
    mutating func listServerSide() -> [NamedSubscribeRequest] {
        listed = []
        var bytes = 0
        var requests: [NamedSubscribeRequest] = []
        for (room, session) in sessions.enumerated()
        where session.isServerSide && session.isWanted && !session.isResting {
            guard let since = session.recoverySince else { continue }
            bytes += session.name.bytes.count + since.epoch.bytes.count + 32
            guard requests.count < listedLimit, bytes <= Self.listedBytes else { break }
            var request = SubscribeRequest()
            request.recover = true
            request.epoch = since.epoch
            request.offset = since.offset
            requests.append(NamedSubscribeRequest(channel: session.name, request: request))
            listed.insert(room)
        }
        return requests
    }

    /// The answer to connect named them; before the other rooms want to be joined.
    mutating func takeServerSide(_ subs: [NamedSubscribeResult], _ turn: inout Turn) {
        if !listed.isEmpty { listedLimit = min(Self.mostListed, listedLimit * 2) }
        let before = listed
        listed = []
        for room in sessions.indices { sessions[room].isServerSide = false }
        for sub in subs { putInto(sub.channel, sub.result, before, &turn) }
    }

    /// The server put us into a room while the connection lives.
    mutating func putInto(_ name: ByteString, _ push: SubscribePush, _ turn: inout Turn) {
        var result = SubscribeResult()
        result.recoverable = push.recoverable
        result.positioned = push.positioned
        result.epoch = push.epoch
        result.offset = push.offset
        putInto(name, result, [], &turn)
    }

    private mutating func putInto(
        _ name: ByteString,
        _ result: SubscribeResult,
        _ listed: Set<Int>,
        _ turn: inout Turn
    ) {
        if let room = index.find(name), sessions[room].canBePutIn {
            company.heard(room)
            sessions[room].putIn(result, wasListed: listed.contains(room), &turn)
            return noteAnswer(from: room)
        }
        let isKept = serverSide.add(name, result)
        guard index.find(name) == nil, !hasToldServerSide else { return }
        hasToldServerSide = true
        turn.log(
            .warning,
            isKept
                ? "the server put this client into a room that nobody joined: its events are dropped, as those of any other"
                : "the server put this client into more rooms than it remembers: their events are dropped",
            LogField(.room, name)
        )
    }

    /// The room is to be subscribed, or was found to be: true when the server has put us into it.
    mutating func adopt(_ room: Int, _ turn: inout Turn) -> Bool {
        guard let result = serverSide.take(sessions[room].name) else { return false }
        sessions[room].putIn(result, wasListed: false, &turn)
        noteAnswer(from: room)
        return true
    }

    /// Connect was not answered, perhaps since the answer with what was missed is too large: less is asked for.
    mutating func forgetListed(isSuspicious: Bool) {
        defer { listed = [] }
        guard isSuspicious, case .authenticating = state, let first = listed.first else { return }
        listedLimit = max(1, listed.count / 2)
        if listed.count == 1 { sessions[first].recoveryLost(wasAlone: true, isSole: true) }
    }
}
