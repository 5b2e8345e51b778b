internal import RoomsRuntime
internal import RoomsTransport

/// Asks the server's API for one connection.
///
/// On its loop's thread.
final class HistoryDesk {
    private let api: HistoryAPI
    private let transport: TransportLoop
    private var work: [Int: PendingWork] = [:]
    private var timers: [Int: TimerID] = [:]

    init(_ api: HistoryAPI, transport: TransportLoop) {
        self.api = api
        self.transport = transport
    }

    deinit {
        if transport.loop.isOnLoop { cancel() }
    }

    /// `done` is called on the loop, never before this returns, and not after `cancel`; of a room one question at a time.
    func ask(_ question: HistoryQuestion, _ done: @escaping (HistoryOutcome) -> Void) {
        let room = question.room
        do {
            work[room] = transport.transfer(try api.request(question.request)) { [weak self] result in
                self?.work[room] = nil
                done(HistoryOutcome(result))
            }
        } catch {
            // The key cannot be read.
            let timer = transport.loop.schedule(after: .zero) { [weak self] in
                self?.timers[room] = nil
                done(.unavailable(ByteString("\(error)")))
            }
            timers[room] = timer
        }
    }

    func cancel() {
        for work in work.values { work.cancel() }
        for timer in timers.values { transport.loop.cancel(timer) }
        (work, timers) = ([:], [:])
    }
}
