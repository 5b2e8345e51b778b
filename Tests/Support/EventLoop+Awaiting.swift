package import RoomsRuntime

extension EventLoop {
    /// Runs `body` on the loop and waits for what it gives.
    package func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            post { continuation.resume(with: Result { try body() }) }
        }
    }
}
