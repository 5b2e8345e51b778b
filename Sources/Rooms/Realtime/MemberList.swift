internal import RoomsRuntime

/// Who is in a room, and how many users that are.
///
/// A server that tells of members without end does not fill the memory: beyond the limit no more are kept.
struct MemberList: Sendable {
    /// In bytes; a member without `info` takes some hundred.
    private static let limit = 16 << 20

    private struct Entry: Sendable {
        let member: RoomMember
        let weight: Int
    }

    /// By the id of their connection.
    private var entries: [ByteString: Entry] = [:]
    /// How many connections each user has; those without a name are not among them.
    private var users: [ByteString: Int] = [:]
    private var anonymous = 0
    private var weight = 0

    /// Those without a name count once for each connection.
    var userCount: Int { users.count + anonymous }

    var sorted: [RoomMember] { entries.sorted { $0.key < $1.key }.map(\.value.member) }

    /// `weight` is what the member takes in memory, in bytes.
    mutating func add(_ member: RoomMember, as client: ByteString, weight added: Int) {
        remove(client)
        guard weight + added <= Self.limit else { return }
        entries[client] = Entry(member: member, weight: added)
        weight += added
        if member.user.isEmpty { anonymous += 1 } else { users[ByteString(member.user), default: 0] += 1 }
    }

    mutating func remove(_ client: ByteString) {
        guard let entry = entries.removeValue(forKey: client) else { return }
        weight -= entry.weight
        let user = ByteString(entry.member.user)
        guard !user.isEmpty else { return anonymous -= 1 }
        let left = (users[user] ?? 1) - 1
        users[user] = left > 0 ? left : nil
    }

    mutating func removeAll() { self = MemberList() }
}
