import BridgeTestSupport
import RoomsRuntime

import Rooms

/// What handlers said, in order.
final class Heard: Sendable {
    private let state = Lock<[String]>([])

    init() {}

    /// Every event of the room as its data, with `*` for a replayed one; `joined`, `kicked`, and errors with their code
    /// and reason.
    convenience init(_ room: Room) {
        self.init()
        listen(to: room)
    }

    /// As a closure of `join` it misses nothing, however fast a room fails.
    func listen(to room: Room) {
        room.on("joined") { [self] _, _ in add("joined") }
        room.on("kicked") { [self] _, _ in add("kicked") }
        room.onAny { [self] _, data, meta in add("\(data)" + (meta.replayed ? "*" : "")) }
        room.on("error") { [self] error, _ in
            add(["error", error["code"]?.string, error["reason"]?.string].compactMap(\.self).joined(separator: " "))
        }
    }

    func add(_ text: String) { state.withLock { $0.append(text) } }

    /// Waits until that is all that was said.
    func become(_ wanted: [String], story isStory: Bool = false) async throws {
        do {
            try await eventually { (isStory ? story : all) == wanted }
        } catch is NotInTime {
            throw NotInTime(description: "\(all) was said in place of \(wanted)")
        }
    }

    var all: [String] { state.withLock { $0 } }
    /// Without what was said of servers that could not be reached, which depends on how long they could not.
    var story: [String] { all.filter { $0 != "error unavailable" } }
}
