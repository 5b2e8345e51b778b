import Rooms

/// Follows rooms: prints a line for each event, and keeps how far it came.
///
/// The library calls the handlers of a room one after another and waits for each: nothing is dropped while whoever reads
/// the output is slow.
actor Tail {
    private let rt: Realtime
    private let wish: Invocation
    private var positions: Positions?
    private let isJSON: Bool
    private let isColoured: Bool
    /// Rooms that are joined, or may still be.
    private var open: Set<String> = []
    /// Rooms whose history is to be printed when they are joined.
    private var awaitsHistory: Set<String> = []
    private var isOver = false

    init(_ rt: Realtime, _ wish: Invocation, _ positions: Positions?) {
        self.rt = rt
        self.wish = wish
        self.positions = positions
        isJSON = wish.isJSON ?? !Descriptor.standardOutput.isTerminal
        isColoured = Descriptor.standardOutput.showsColour
    }

    /// In one turn: no line of one room holds up the others' joining.
    func followAll() {
        for room in wish.rooms { follow(room) }
    }

    private func follow(_ name: String) {
        // A room that is named twice is followed once.
        guard rt.room(name) == nil else { return }
        open.insert(name)
        let saved = positions?[name]
        if saved == nil, wish.history > 0 { awaitsHistory.insert(name) }
        rt.join(name, after: saved) { room in
            for event in ["join", "leave", "count"] {
                room.on(event) { data, meta in print(Entry(room, own: event, data, meta)) }
            }
            room.on("joined") { data, meta in
                open.insert(name)
                print(Entry(room, own: "joined", data, meta))
                if awaitsHistory.remove(name) != nil { await printHistory(of: room, joined: meta) }
            }
            room.on("error") { data, meta in
                print(Entry(room, own: "error", data, meta))
                if room.state == .failed { close(room) }
            }
            room.on("kicked") { data, meta in
                print(Entry(room, own: "kicked", data, meta))
                close(room)
            }
            room.onAny { event, data, meta in print(Entry(room, event, data, meta)) }
        }
    }

    /// What the room kept before it was joined; its new events wait until this is done.
    private func printHistory(of room: Room, joined: EventMeta) async {
        do {
            for event in try await room.newest(wish.history, before: joined.next) {
                print(Entry(room, event.event, event.data, event.meta), isPosition: false)
            }
        } catch {
            let error = error as? RoomError ?? RoomError(.unavailable, "\(error)")
            let data: JSONValue = ["code": JSONValue(error.code.rawValue), "message": JSONValue(error.message)]
            print(Entry(room, own: "error", data, joined))
        }
    }

    private func print(_ entry: Entry, isPosition: Bool = true) {
        guard !isOver else { return }
        do throws(Failure) {
            if entry.isOwn || wish.wants(entry.event) {
                let line = isJSON ? entry.json : entry.text(inColour: isColoured)
                guard try Descriptor.standardOutput.write(line + "\n") else { return end() }
            }
            // Behind the line: after a crash between the two it is printed once more.
            if isPosition, !entry.meta.id.isEmpty { try positions?.move(entry.room, to: entry.meta.id) }
        } catch {
            end(error)
        }
    }

    /// Nothing more comes of that room.
    private func close(_ room: Room) {
        open.remove(room.name)
        if open.isEmpty { end(Failure(.unavailable, "no room is left that it may follow")) }
    }

    private func end(_ failure: Failure? = nil) {
        isOver = true
        Ending.reach(failure)
    }
}

extension Room {
    /// The newest events that the room keeps before that one, oldest first, as many as there are.
    fileprivate func newest(_ count: Int, before id: String?) async throws -> [RoomEvent] {
        var events: [RoomEvent] = []
        var hasMore = true
        while hasMore, events.count < count {
            let page = try await history(before: events.first?.meta.id ?? id, limit: count - events.count)
            events.insert(contentsOf: page.events, at: 0)
            hasMore = page.more && !page.events.isEmpty
        }
        return events
    }
}

extension EventMeta {
    /// The id of the event behind this one.
    fileprivate var next: String? {
        guard let colon = id.lastIndex(of: ":"), let offset = UInt64(id[id.index(after: colon)...]), offset < .max
        else { return nil }
        return "\(id[..<colon]):\(offset + 1)"
    }
}
