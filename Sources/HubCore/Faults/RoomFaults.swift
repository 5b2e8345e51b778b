internal import RoomsRuntime
internal import RoomsWire

/// What goes wrong in one room; there is one only while something does.
struct RoomFaults {
    /// Members whose subscription ends in place of the next publication.
    var misplaced: Set<ObjectIdentifier> = []
    /// So many publications are pushed twice.
    var duplicates = 0
    /// So many publications are kept and not pushed, and when the hub notices that.
    var losses = 0
    var lossNotice = Fault.Notice.never

    var isEmpty: Bool { misplaced.isEmpty && duplicates == 0 && losses == 0 }
}

extension Room {
    fileprivate func changeFaults(_ body: (inout RoomFaults) -> Void) {
        var changed = faults ?? RoomFaults()
        body(&changed)
        faults = changed.isEmpty ? nil : changed
    }

    /// Forgets that a member had lost its position, because it leaves.
    func forgetMisplaced(_ member: any RoomMember) {
        changeFaults { $0.misplaced.remove(ObjectIdentifier(member)) }
    }

    /// How many members there are whose position means something.
    var positionedCount: Int { members.count { $0.terms.isPositioned } }
}

/// Faults of rooms.
extension RoomRegistry {
    /// The stream is a new one: another epoch, nothing in it.
    func renew(_ room: Room, _ notice: Fault.Notice, at now: Instant) {
        room.history = nil
        _ = stream(of: room, at: now)
        misplace(in: room, notice)
    }

    /// Drops what the room keeps; how many publications that were.
    func dropHistory(of room: Room, at now: Instant) -> Int {
        let count = stream(of: room, at: now).count
        room.history?.removeAll()
        return count
    }

    /// The next publication gets an offset that is higher by `count`, and nothing before it is left.
    func skip(_ count: UInt64, in room: Room, _ notice: Fault.Notice, at now: Instant) {
        _ = stream(of: room, at: now)
        room.history?.skip(count)
        misplace(in: room, notice)
    }

    /// The stream ends at `offset` again, within its epoch.
    func goBack(_ room: Room, to offset: UInt64, _ notice: Fault.Notice, at now: Instant) {
        _ = stream(of: room, at: now)
        room.history?.goBack(to: offset)
        misplace(in: room, notice)
    }

    /// The next `count` publications are kept and not pushed; once they are lost the members are misplaced.
    func losePushes(_ count: Int, in room: Room, _ notice: Fault.Notice) {
        room.changeFaults { faults in
            faults.losses = count
            faults.lossNotice = notice
        }
    }

    func duplicatePushes(_ count: Int, in room: Room) {
        room.changeFaults { $0.duplicates = count }
    }

    func endFaults() {
        for room in rooms.values where room.faults != nil {
            room.faults = nil
            dropIfIdle(room)
        }
    }

    private func misplace(in room: Room, _ notice: Fault.Notice) {
        guard notice != .never else { return }
        let positioned = room.members.filter(\.terms.isPositioned).map(\.member)
        if notice == .now {
            for member in positioned { member.losePosition(in: room.name) }
        } else {
            room.changeFaults { faults in
                for member in positioned { faults.misplaced.insert(ObjectIdentifier(member)) }
            }
        }
    }

    /// Pushes one publication to those whom the faults of the room let have it.
    func push(_ broadcast: inout Broadcast, in room: Room, _ faults: RoomFaults) {
        guard faults.losses == 0 else {
            room.changeFaults { $0.losses -= 1 }
            if faults.losses == 1 { misplace(in: room, faults.lossNotice) }
            return
        }
        room.changeFaults { changed in
            changed.misplaced = []
            changed.duplicates = max(0, faults.duplicates - 1)
        }
        for membership in room.members {
            if faults.misplaced.contains(ObjectIdentifier(membership.member)) {
                membership.member.losePosition(in: room.name)
                continue
            }
            membership.member.deliver(&broadcast)
            if faults.duplicates > 0 { membership.member.deliver(&broadcast) }
        }
    }
}
