internal import RoomsRuntime
internal import RoomsWire

/// One room never takes the others down for good.
///
/// A server may end the whole connection over what one room asked for: a token that is another room's, a rule of the
/// app. The rooms whose commands it left unanswered are accused; on the next connection they come behind the others, each
/// alone, the likeliest last. An answer acquits. When the connection ends while one of them alone awaits its answer, that
/// room is guilty: it fails, and the others stay.
extension ConnectionStateMachine {
    /// After so many rooms in a row that were found guilty on connections where nothing was answered, it is not the rooms.
    private static let mostUnheard = 8

    enum Finding {
        case nobody
        /// Rooms are accused, or the app's own requests may be to blame.
        case somebody
        /// One room is known to be it.
        case guilty
    }

    /// Whose fault the end of the connection is; before the connection is forgotten.
    mutating func blame(_ verdict: EndVerdict, _ turn: inout Turn) -> Finding {
        guard verdict.mayBeOneRoom, isReady else { return .nobody }
        if let room = onTrial { return convict(room, verdict, &turn) }
        var finding = requests.isEmpty ? Finding.nobody : .somebody
        for (id, entry) in window.awaited {
            guard let room = entry.room, sessions[room].inFlight?.needsToken == true else { continue }
            sessions[room].accusation = Int(id)
            finding = .somebody
        }
        return finding
    }

    private mutating func convict(_ room: Int, _ verdict: EndVerdict, _ turn: inout Turn) -> Finding {
        guard verdict.isTerminal else {
            guard hasAnswered else {
                // Perhaps the server is in trouble with every room: they take turns.
                sessions[room].accusation = (sessions.compactMap(\.accusation).min() ?? 0) - 1
                return .somebody
            }
            sessions[room].holdBack(verdict, &turn)
            return .guilty
        }
        unheard = hasAnswered ? 0 : unheard + 1
        if unheard > Self.mostUnheard {
            unheard = 0
            for room in sessions.indices { sessions[room].accusation = nil }
            return .nobody
        }
        sessions[room].convict(verdict, &turn)
        return hasAnswered ? .guilty : .somebody
    }

    /// A room's command was answered.
    mutating func noteHeard(_ room: Int) {
        hasAnswered = true
        sessions[room].accusation = nil
        if onTrial == room { onTrial = nil }
    }

    /// The next accused room, once nothing else is in flight or wanted.
    mutating func sendAccused(_ turn: inout Turn) {
        guard window.isEmpty, onTrial == nil, !mustRejoin else { return }
        let accused = queue.filter { sessions[$0].accusation != nil }
        for room in accused.sorted(by: { (sessions[$0].accusation ?? 0) > (sessions[$1].accusation ?? 0) }) {
            guard window.isEmpty, let wish = sessions[room].wish else { continue }
            queue.removeAll { $0 == room }
            isQueued[room] = false
            // Nothing is sent where a token has to be fetched first.
            send(wish, for: room, isAlone: wish.isHeavy, &turn)
            if !window.isEmpty { onTrial = room }
        }
    }

    /// Nothing else may be sent: a room is on trial, or waits for its own.
    var isTrying: Bool { onTrial != nil || queue.contains { sessions[$0].accusation != nil } }
}
