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
        var isSending = false

        var isEmpty: Bool { states.isEmpty && status == nil && !isSending }
    }

    private let waiting = Lock(Waiting())
    private let loop: EventLoop?

    /// The manager of this process, by its environment; starts the thread if there is one.
    package init() {
        guard let address = getenv("NOTIFY_SOCKET"), address[0] != 0 else {
            loop = nil
            return
        }
        let loop = EventLoop(name: "notify")
        self.loop = loop
        // The thread may be stuck in the manager's socket when the process ends: it holds only what it needs.
        let waiting = waiting
        loop.onWake { Self.send(waiting) }
        loop.start()
    }

    package var isSupervised: Bool { loop != nil }

    /// The service is up: what waits for it may start.
    package func ready(status: String) { put(state: "READY=1", status) }

    /// The end has begun.
    package func stopping(status: String) { put(state: "STOPPING=1", status) }

    /// One line for `systemctl status`.
    package func status(_ text: String) { put(state: nil, text) }

    /// Waits until everything is sent, but not longer than `limit`.
    package func flush(within limit: Duration) {
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
            let messages = waiting.withLock { waiting in
                let messages = waiting.states + (waiting.status.map { [$0] } ?? [])
                waiting = Waiting()
                waiting.isSending = !messages.isEmpty
                return messages
            }
            guard !messages.isEmpty else { return }
            for message in messages { sd_notify(0, message) }
        }
    }
}
