internal import CRoomsLinux
internal import Glibc

/// What a descriptor is watched for, and what it turned out to be ready for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// The peer hung up or the descriptor is in error; reported whether asked for or not.
    package static let failed = Readiness(rawValue: 4)
}

/// A thread that owns descriptors and timers: epoll, an eventfd to wake it, a heap of deadlines.
///
/// Everything but `start`, `post`, `wake`, `stop` and `join` belongs to the loop's own thread and traps elsewhere.
/// Handlers run one at a time; they must not block. Objects that live on a loop cross threads as `LoopBound`.
package final class EventLoop: Sendable {
    package let name: String
    // Safety: all of it is touched on the loop's thread alone, or before `start`.
    private nonisolated(unsafe) let core: Core
    private let poller: CInt
    private let bell: CInt
    private let shared = Lock(Shared())

    private struct Shared: Sendable {
        var jobs: [@Sendable () -> Void] = []
        var thread: UInt = 0
        var isStopping = false
        /// The thread has ended: nothing runs any more.
        var isOver = false
        var isRung = false
    }

    private final class Core {
        var watches: [CInt: Watch] = [:]
        var timers = TimerHeap<() -> Void>()
        var generation: UInt32 = 0
        var now = SystemClock.now
        var wakeHandlers: [() -> Void] = []
        var turnHandlers: [() -> Void] = []
        var longestTurn = Duration.zero
    }

    private struct Watch {
        var generation: UInt32
        var interest: Readiness
        var handler: (Readiness) -> Void
    }

    /// `name` is the thread's (at most 15 bytes).
    package init(name: String) {
        self.name = name
        core = Core()
        poller = epoll_create1(CInt(EPOLL_CLOEXEC))
        bell = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
        precondition(poller >= 0 && bell >= 0, "no descriptors left for an event loop")
        var event = shim_epoll_event(EPOLLIN.rawValue, UInt64(UInt32(bitPattern: bell)))
        epoll_ctl(poller, EPOLL_CTL_ADD, bell, &event)
    }

    deinit {
        close(poller)
        close(bell)
    }

    // MARK: from any thread

    /// Starts the thread, which keeps the loop alive until `stop`.
    package func start() {
        // Safety: the thread takes this reference over, below.
        let retained = Unmanaged.passRetained(self)
        var thread: UInt = 0
        let result = shim_thread_start(
            &thread,
            name,
            512 * 1024,
            { argument in
                guard let argument else { return nil }
                // Safety: `start` retained the loop for this thread; this takes that reference over.
                Unmanaged<EventLoop>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            // Safety: as above.
            retained.toOpaque()
        )
        precondition(result == 0, "cannot start a thread")
        shared.withLock { $0.thread = thread }
    }

    /// Runs `job` on the loop's thread, after what was posted before.
    ///
    /// For rare work; data crosses in an `Inbox`.
    package func post(_ job: @escaping @Sendable () -> Void) {
        let isOver = shared.withLock { shared in
            if !shared.isOver { shared.jobs.append(job) }
            return shared.isOver
        }
        // A job that never runs must not keep what it holds.
        if !isOver { wake() }
    }

    /// Makes the loop run its wake handlers; several calls before it gets there count as one.
    package func wake() {
        let ring = shared.withLock { shared in
            defer { shared.isRung = true }
            return !shared.isRung
        }
        guard ring else { return }
        var one: UInt64 = 1
        _ = write(bell, &one, 8)
    }

    /// Lets the loop end after its present turn and the jobs posted so far.
    package func stop() {
        shared.withLock { $0.isStopping = true }
        wake()
    }

    /// Waits for the thread to end.
    ///
    /// Call once, after `stop`, never on the loop itself.
    package func join() {
        let thread = shared.withLock { shared in
            defer { shared.thread = 0 }
            return shared.thread
        }
        guard thread != 0 else { return }
        _ = shim_thread_join(thread)
    }

    /// In place of `join`, where nobody waits: the thread ends by itself after `stop`.
    ///
    /// May be called on the loop.
    package func detach() {
        let thread = shared.withLock { shared in
            defer { shared.thread = 0 }
            return shared.thread
        }
        if thread != 0 { _ = shim_thread_detach(thread) }
    }

    package var isOnLoop: Bool {
        // Safety: an address to compare with, never followed.
        Self.current == UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque())
    }

    package func preconditionOnLoop() {
        precondition(isOnLoop, "this belongs to the thread of its loop")
    }

    // MARK: before `start` or on the loop

    /// `handler` runs whenever the loop was woken: the place to drain an `Inbox`.
    package func onWake(_ handler: @escaping () -> Void) {
        core.wakeHandlers.append(handler)
    }

    /// `handler` runs at the end of each turn: the place to hand on what the turn gathered.
    package func onTurnEnd(_ handler: @escaping () -> Void) {
        core.turnHandlers.append(handler)
    }

    // MARK: on the loop

    /// The time at the start of the present turn.
    package var now: Instant { core.now }

    /// The longest turn since this was last asked (waiting not counted).
    package func takeLongestTurn() -> Duration {
        defer { core.longestTurn = .zero }
        return core.longestTurn
    }

    /// Watches `descriptor`; a watch that is there already is replaced.
    ///
    /// The descriptor stays the caller's.
    package func watch(_ descriptor: CInt, for interest: Readiness, _ handler: @escaping (Readiness) -> Void) {
        preconditionOnLoop()
        core.generation &+= 1
        let isKnown = core.watches[descriptor] != nil
        core.watches[descriptor] = Watch(generation: core.generation, interest: interest, handler: handler)
        control(isKnown ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, interest, core.generation)
    }

    /// Changes what a watched descriptor is watched for; nothing happens when it is the same.
    package func rewatch(_ descriptor: CInt, for interest: Readiness) {
        preconditionOnLoop()
        guard var watch = core.watches[descriptor], watch.interest != interest else { return }
        watch.interest = interest
        core.watches[descriptor] = watch
        control(EPOLL_CTL_MOD, descriptor, interest, watch.generation)
    }

    /// Must be called before the descriptor is closed.
    package func unwatch(_ descriptor: CInt) {
        preconditionOnLoop()
        guard core.watches.removeValue(forKey: descriptor) != nil else { return }
        var event = epoll_event()
        epoll_ctl(poller, EPOLL_CTL_DEL, descriptor, &event)
    }

    @discardableResult
    package func schedule(at deadline: Instant, _ action: @escaping () -> Void) -> TimerID {
        core.timers.add(action, at: deadline)
    }

    @discardableResult
    package func schedule(after delay: Duration, _ action: @escaping () -> Void) -> TimerID {
        schedule(at: SystemClock.now + delay, action)
    }

    package func cancel(_ timer: TimerID) {
        core.timers.cancel(timer)
    }

    // MARK: the thread

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    private static var current: UInt { UInt(bitPattern: pthread_getspecific(key)) }

    /// Makes the calling thread the loop's until `stop`, in place of `start`.
    package func run() {
        // Safety: an address to compare with, never followed.
        pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
        defer { pthread_setspecific(Self.key, nil) }
        var events = [epoll_event](repeating: epoll_event(), count: 256)
        while true {
            let count = epoll_wait(poller, &events, CInt(events.count), waitLimit())
            core.now = SystemClock.now
            var isRung = false
            for index in 0..<max(0, Int(count)) {
                isRung = dispatch(&events[index]) || isRung
            }
            while let action = core.timers.popDue(core.now) { action() }
            if isRung, takeWake() { return end() }
            for handler in core.turnHandlers { handler() }
            core.longestTurn = max(core.longestTurn, SystemClock.now - core.now)
        }
    }

    /// Lets go of everything that was to run: much of it holds the loop in turn.
    private func end() {
        let jobs = shared.withLock { shared in
            defer { shared.jobs = [] }
            shared.isOver = true
            return shared.jobs
        }
        let kept = (jobs, core.watches, core.timers, core.wakeHandlers, core.turnHandlers)
        (core.watches, core.timers, core.wakeHandlers, core.turnHandlers) = ([:], TimerHeap(), [], [])
        withExtendedLifetime(kept) {}
    }

    /// Milliseconds for epoll, rounded up so that a timer is due when it returns.
    private func waitLimit() -> CInt {
        guard let deadline = core.timers.earliest() else { return -1 }
        let wait = deadline - SystemClock.now
        return wait <= .zero ? 0 : CInt(clamping: min(wait.wholeMilliseconds, 3_600_000))
    }

    /// True when the event was the bell.
    private func dispatch(_ event: inout epoll_event) -> Bool {
        let data = shim_epoll_data(&event)
        let descriptor = CInt(bitPattern: UInt32(truncatingIfNeeded: data))
        if descriptor == bell { return true }
        // An event of a descriptor that was closed and opened again in this turn carries the old generation.
        guard let watch = core.watches[descriptor], watch.generation == UInt32(truncatingIfNeeded: data >> 32) else {
            return false
        }
        var readiness: Readiness = []
        if event.events & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if event.events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.failed) }
        watch.handler(readiness)
        return false
    }

    /// Runs wake handlers and jobs; true when the loop was told to stop.
    private func takeWake() -> Bool {
        var count: UInt64 = 0
        _ = read(bell, &count, 8)
        let (jobs, isStopping) = shared.withLock { shared in
            defer { shared.jobs = [] }
            shared.isRung = false
            return (shared.jobs, shared.isStopping)
        }
        for job in jobs { job() }
        for handler in core.wakeHandlers { handler() }
        return isStopping
    }

    private func control(_ operation: CInt, _ descriptor: CInt, _ interest: Readiness, _ generation: UInt32) {
        var mask: UInt32 = 0
        if interest.contains(.readable) { mask |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
        if interest.contains(.writable) { mask |= EPOLLOUT.rawValue }
        var event = shim_epoll_event(mask, UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor)))
        epoll_ctl(poller, operation, descriptor, &event)
    }
}

/// Something that lives on a loop, in a box that may cross threads: opening it elsewhere traps.
// Safety: `value` traps off the loop, and what is inside is only used there.
package struct LoopBound<Value>: @unchecked Sendable {
    private let content: Value
    package let loop: EventLoop

    package init(_ value: Value, on loop: EventLoop) {
        content = value
        self.loop = loop
    }

    package var value: Value {
        loop.preconditionOnLoop()
        return content
    }
}
