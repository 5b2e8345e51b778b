internal import CRoomsLinux
internal import Glibc

/// The one lock of the project: a value that only one thread at a time may see.
///
/// Decide inside `withLock`, act outside: no call-out, no log line, no system call while it is held.
/// It is a pthread mutex because Thread Sanitizer reports every contended `Mutex` of Synchronization.
package final class Lock<State> {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var state: State

    package init(_ state: State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        let result = pthread_mutex_init(mutex, nil)
        precondition(result == 0, "pthread_mutex_init failed")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}

// Safety: `state` is reached through `withLock` alone, under `mutex`.
extension Lock: @unchecked Sendable where State: Sendable {}
