internal import RoomsRuntime
internal import RoomsWire

/// Publications: order, duplicates, holes, gaps.
extension SessionStateMachine {
    /// A live publication.
    mutating func published(_ publication: Publication, _ turn: inout Turn) {
        switch state {
        case .live: takeLive(publication, &turn)
        case .filling: keepLive(publication, &turn)
        default: turn.tally.late += 1
        }
    }

    private mutating func keepLive(_ publication: Publication, _ turn: inout Turn) {
        guard publication.offset > 0 else { return emitLoose(publication, &turn) }
        if !publication.epoch.isEmpty, let epoch = position?.epoch, !epoch.isEmpty, publication.epoch != epoch {
            return part(&turn)
        }
        switch live.add(publication, limit: policy.liveBufferBytes) {
        case .kept: break
        case .duplicate: turn.tally.duplicates += 1
        case .moved(let count): turn.tally.refetched += UInt64(count)
        }
    }

    mutating func takeLive(_ publication: Publication, _ turn: inout Turn) {
        guard isPositioned, publication.offset > 0, position != nil else { return emitLoose(publication, &turn) }
        if !publication.epoch.isEmpty, publication.epoch != position?.epoch {
            if position?.epoch.isEmpty == true {
                position?.epoch = publication.epoch
            } else if publication.offset == 1 {
                changeEpoch(to: publication.epoch, &turn)
            } else {
                return part(&turn)
            }
        }
        guard let known = position else { return }
        if publication.offset <= known.offset {
            turn.tally.duplicates += 1
            return
        }
        if publication.offset != known.next {
            guard holes.isFiltered else {
                holes.found(at: publication.offset)
                turn.log(
                    .warning,
                    "events are missing between live ones, the room is joined again",
                    LogField(.room, name),
                    LogField(.gapFrom, known.next),
                    LogField(.gapTo, publication.offset - 1)
                )
                return part(&turn)
            }
            declare(.filtered, to: publication.offset - 1, &turn)
        }
        emit(publication, isReplayed: false, &turn)
    }

    /// A publication of a recovery or of a history page.
    mutating func takeReplayed(_ publication: Publication, _ turn: inout Turn) {
        guard let known = position, publication.offset > 0 else { return emitLoose(publication, &turn) }
        if publication.offset <= known.offset {
            turn.tally.duplicates += 1
            return
        }
        if publication.offset != known.next {
            declare(holes.isFiltered ? .filtered : .trimmed, to: publication.offset - 1, &turn)
        }
        emit(publication, isReplayed: true, &turn)
    }

    private mutating func emit(_ publication: Publication, isReplayed: Bool, _ turn: inout Turn) {
        position?.offset = publication.offset
        turn.items.append(.event(room: room, publication, position: position, isReplayed: isReplayed))
    }

    /// An event that has no place in a stream.
    mutating func emitLoose(_ publication: Publication, _ turn: inout Turn) {
        turn.items.append(.event(room: room, publication, position: nil, isReplayed: false))
        guard isDurable, !hasToldLoose else { return }
        hasToldLoose = true
        turn.log(
            .warning,
            "an event came without a position: what is published so is lost to whoever is not connected",
            LogField(.room, name)
        )
    }

    // MARK: gaps

    /// Everything behind the position up to `last` is missing.
    mutating func declare(_ reason: RoomGapReason, to last: UInt64, _ turn: inout Turn) {
        guard let known = position, last > known.offset else { return }
        var then = known
        then.offset = last
        declare(reason, from: known.next, to: last, then: then, &turn)
    }

    mutating func declare(
        _ reason: RoomGapReason,
        from first: UInt64,
        to last: UInt64?,
        then next: RoomPosition,
        _ turn: inout Turn
    ) {
        guard let known = position else { return }
        let gap = RoomGap(
            reason: reason,
            epoch: known.epoch,
            from: first,
            to: last,
            incarnation: known.incarnation
        )
        position = next
        turn.items.append(.gap(room: room, gap, position: next))
        turn.log(
            .critical,
            "events of a room are missing",
            LogField(.room, name),
            LogField(.reason, reason.rawValue),
            LogField(.epoch, known.epoch),
            LogField(.gapFrom, first),
            LogField(.gapTo, last.map { "\($0)" } ?? "unknown")
        )
    }
}
