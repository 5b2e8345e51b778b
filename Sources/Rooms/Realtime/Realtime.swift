internal import RoomsRuntime

/// An app's rooms on one realtime server.
///
/// It connects when the first room is joined, and ends when it is closed or let go. May be used from any thread.
public final class Realtime: Sendable {
    private let handle: RealtimeHandle

    /// `url` is that of the server's WebSocket, such as `wss://realtime.example.com/connection/websocket`.
    ///
    /// Throws a `RoomError` of code `bad_request` that says what is wrong with a URL, a key or a grant.
    public init(url: String, options: RealtimeOptions = RealtimeOptions()) throws {
        handle = try RealtimeHandle(url: url, options: options)
    }

    deinit { handle.shutDown() }

    /// Joins a room; the same room for the same name until it is left.
    ///
    /// What is published from then on comes as events. With `after`, the `meta.id` of the last event that was handled
    /// before, also by an earlier process, come first those that were missed since; what the server keeps no more is
    /// told by the room's `error` of code `gap`. Without effect for a room that is joined already; an empty one stands for
    /// none, with one that is no id the room is `failed` with `bad_request`. After `close` the room is `left` from the
    /// beginning.
    ///
    /// `handlers` is called at once, before anything of the room can come: handlers that are registered in it hear
    /// everything. Those that are registered later hear what comes then.
    @discardableResult
    public func join(_ name: String, after id: String? = nil, _ handlers: (Room) -> Void = { _ in }) -> Room {
        handle.join(name, after: id, handlers)
    }

    /// The room of that name, if it was joined.
    public func room(_ name: String) -> Room? {
        handle.room(ByteString(name))
    }

    /// Leaves the room of that name; nothing where it was not joined.
    public func leave(_ name: String) {
        room(name)?.leave()
    }

    /// Leaves all rooms and closes the connections; returns when that is done.
    public func close() async {
        await handle.close()
    }
}
