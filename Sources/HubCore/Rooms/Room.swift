internal import RoomsRuntime
internal import RoomsWire

/// One room: its rule, its stream once it has one, and who is in it.
final class Room {
    let name: ByteString
    let rule: RoomRule
    var history: History?
    private(set) var members: [HubSession] = []

    init(name: ByteString, rule: RoomRule) {
        self.name = name
        self.rule = rule
    }

    func join(_ session: HubSession) {
        members.append(session)
    }

    func leave(_ session: HubSession) {
        guard let place = members.firstIndex(where: { $0 === session }) else { return }
        members.remove(at: place)
    }
}
