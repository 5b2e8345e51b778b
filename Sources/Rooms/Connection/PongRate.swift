internal import RoomsRuntime

/// How often pings are answered: a server that asks without end is not answered without end.
struct PongRate {
    private static let mostPerSecond = 10

    private var count = 0
    private var began = Instant(nanoseconds: 0)

    /// False where the server was answered often enough in this second.
    mutating func admits(_ now: Instant) -> Bool {
        if now - began >= .seconds(1) { (count, began) = (0, now) }
        count += 1
        return count <= Self.mostPerSecond
    }
}
