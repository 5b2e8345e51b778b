internal import CSystemd
internal import Glibc
internal import RoomsRuntime

/// Tells the service manager how the service is doing; does nothing where there is none (no `NOTIFY_SOCKET`).
///
/// `sd_notify` waits when the manager does not read, so it has a thread of its own here: a manager that hangs holds
/// nothing else up, and of several status lines that wait only the last is sent.
package final class ServiceNotifier: Sendable {
    private struct Waiting: Sendable {
        var states: [String] = []
        var status: String?
        var isAlive = false
        /// Somebody waits until the manager has worked off everything.
        var wantsBarrier = false
        var isSending = false

        var isEmpty: Bool { states.isEmpty && status == nil && !isAlive && !wantsBarrier && !isSending }
    }

    private let waiting = Lock(Waiting())
    private let extended = Lock<Instant?>(nil)
    private let loop: EventLoop?
    /// Within which the manager wants a sign of life each time; nil: it wants none.
    package let watchdogInterval: Duration?

    private static let extensionInterval = Duration.seconds(5)
    private static let extensionLength = Duration.seconds(30)

    /// The manager of this process, by its environment; starts the thread if there is one.
    package init() {
        guard let address = getenv("NOTIFY_SOCKET"), address[0] != 0 else {
            loop = nil
            watchdogInterval = nil
            return
        }
        var microseconds: UInt64 = 0
        let isWatched = sd_watchdog_enabled(0, &microseconds) > 0
        watchdogInterval = isWatched ? .microseconds(Int64(clamping: microseconds)) : nil
        let loop = EventLoop(name: "notify")
        self.loop = loop
        // The thread may be stuck in the manager's socket when the process ends: it holds only what it needs.
        let waiting = waiting
        loop.onWake { Self.send(waiting) }
        loop.start()
    }

    package var isSupervised: Bool { loop != nil }

    /// The service is up, or a reload is over: what waits for it may go on.
    package func ready(status: String) { put(state: "READY=1", status) }

    /// A reload has begun; `ready` has to follow.
    package func reloading(status: String) {
        put(state: "RELOADING=1\nMONOTONIC_USEC=\(SystemClock.now.nanoseconds / 1_000)", status)
    }

    /// The end has begun.
    package func stopping(status: String) { put(state: "STOPPING=1", status) }

    /// The process ends because of this error, `errno`'s number.
    package func failed(error: Int32, status: String) { put(state: "ERRNO=\(error)", status) }

    /// One line for `systemctl status`.
    package func status(_ text: String) { put(state: nil, text) }

    /// A sign of life for the watchdog.
    package func alive() {
        guard let loop else { return }
        waiting.withLock { $0.isAlive = true }
        loop.wake()
    }

    /// Asks for more time to start or to stop; may be called as often as something moves.
    package func extend() {
        guard let loop else { return }
        let now = SystemClock.now
        let isDue = extended.withLock { last in
            if let last, now - last < Self.extensionInterval { return false }
            last = now
            return true
        }
        guard isDue else { return }
        waiting.withLock { waiting in
            waiting.states.append("EXTEND_TIMEOUT_USEC=\(Self.extensionLength.wholeNanoseconds / 1_000)")
        }
        loop.wake()
    }

    /// Waits until everything is sent, but not longer than `limit`; with a barrier until the manager has worked it off.
    package func flush(within limit: Duration, barrier: Bool = false) {
        guard let loop else { return }
        if barrier {
            waiting.withLock { $0.wantsBarrier = true }
            loop.wake()
        }
        let deadline = SystemClock.now + limit
        while !waiting.withLock({ $0.isEmpty }), SystemClock.now < deadline { poll(nil, 0, 1) }
    }

    private func put(state: String?, _ status: String) {
        guard let loop else { return }
        // Foreign text must not begin a line of its own: it would be taken for a message of ours.
        let line = "STATUS=\(ByteString(status).description)"
        waiting.withLock { waiting in
            if let state {
                waiting.states.append("\(state)\n\(line)")
                waiting.status = nil
            } else {
                waiting.status = line
            }
        }
        loop.wake()
    }

    private static func send(_ waiting: Lock<Waiting>) {
        while true {
            let (messages, isLast) = waiting.withLock { waiting in
                var messages = waiting.states
                if let status = waiting.status { messages.append(status) }
                if waiting.isAlive { messages.append("WATCHDOG=1") }
                let isLast = waiting.wantsBarrier
                waiting = Waiting()
                waiting.isSending = !messages.isEmpty || isLast
                return (messages, isLast)
            }
            guard !messages.isEmpty || isLast else { return }
            for message in messages { sd_notify(0, message) }
            // Otherwise the manager may see the end of the process before what it said last.
            if isLast { sd_notify_barrier(0, 200_000) }
        }
    }
}
