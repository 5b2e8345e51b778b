internal import Glibc
internal import Rooms
internal import RoomsRuntime

/// An app that joins many rooms: in a process of its own, so that time and memory are the client's alone.
///
/// `roombench --join <url> <auth route> <rooms>`, started by the benchmark itself.
enum JoiningClient {
    /// Says `joined <seconds>` when all rooms are, and `heard` when each has had an event.
    static func run(url: String, auth: String, rooms count: Int) -> Never {
        var options = RealtimeOptions()
        options.auth = auth
        options.headers = { ["Authorization": "Bearer app"] }
        guard let client = try? Realtime(url: url, options: options) else { fail("odd URL \(url) or \(auth)") }
        say("ready")
        let heard = Lock(0)
        let clock = Stopwatch()
        let rooms = (0..<count).map { client.join("order:\($0)") }
        for room in rooms {
            room.on("updated") { _, _ in heard.withLock { $0 += 1 } }
        }
        for room in rooms {
            while room.state != .joined {
                guard room.state == .joining else { fail("\(room.name) is \(room.state)") }
                pause(milliseconds: 1)
            }
        }
        say("joined \(clock.seconds)")
        while heard.withLock({ $0 }) < count { pause(milliseconds: 1) }
        say("heard")
        while true { pause(milliseconds: 1_000) }
    }

    private static func say(_ text: String) {
        let line = Array("\(text)\n".utf8)
        _ = write(STDOUT_FILENO, line, line.count)
    }
}
