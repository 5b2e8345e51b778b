internal import RoomsRuntime
internal import RoomsWire

/// Somebody who hears what happens in a room.
protocol RoomMember: AnyObject {
    func deliver(_ broadcast: inout Broadcast)
    /// The stream is no longer the one that the member has a position in.
    func losePosition(in room: ByteString)
}

/// How somebody is in a room.
struct Membership {
    let member: any RoomMember
    let info: ClientInfo
    let terms: SubscriptionTerms
}

/// One room: its rule, its stream once it has one, and who is in it.
final class Room {
    let name: ByteString
    /// Another one when the app that declared it declares its rooms anew.
    var rule: RoomRule
    var history: History?
    /// What is to go wrong; nil: nothing.
    var faults: RoomFaults?
    private(set) var members: [Membership] = []
    /// Since when nobody is in it and nothing is kept, as far as the sweep has seen.
    var idleSince: Instant?

    init(name: ByteString, rule: RoomRule) {
        self.name = name
        self.rule = rule
    }

    /// Those whose presence is known.
    var present: [ClientInfo] { members.filter(\.terms.isPresent).map(\.info) }

    /// Of those, how many connections, and of how many users; all without a name count as one.
    var presenceCounts: (clients: Int, users: Int) {
        let present = present
        return (present.count, Set(present.map(\.user)).count)
    }

    /// True when the rule has no place for one more of that user; connections of one user count once, anonymous ones
    /// each.
    func isFull(for user: ByteString) -> Bool {
        guard let limit = rule.maxMembers, members.count >= limit else { return false }
        var users: Set<ByteString> = []
        var anonymous = 0
        for member in members {
            if member.info.user.isEmpty { anonymous += 1 } else { users.insert(member.info.user) }
        }
        return !users.contains(user) && users.count + anonymous >= limit
    }

    func add(_ membership: Membership) {
        members.append(membership)
    }

    /// Nil when `member` is not in the room.
    func remove(_ member: any RoomMember) -> Membership? {
        members.firstIndex { $0.member === member }.map { members.remove(at: $0) }
    }
}
