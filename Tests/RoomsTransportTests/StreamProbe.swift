import BridgeTestSupport
import RoomsRuntime
import RoomsTransport

/// A transport loop that ends with its test.
final class TestTransport: Sendable {
    let transport = TransportLoop(name: "test-transport")
    var loop: EventLoop { transport.loop }

    init() { loop.start() }

    deinit {
        loop.stop()
        if !loop.isOnLoop { loop.join() }
    }

    /// Connects and gives the open stream, watched for what can be read.
    func connect(
        _ target: StreamTarget,
        timeout: Duration = .seconds(10),
        readAtOnce: Int = 4_096,
        pauseAt: Int = .max
    ) async throws -> StreamProbe {
        let transport = transport
        // Handed over under a lock: Thread Sanitizer does not see what a continuation orders.
        let outcome = Lock<Result<StreamProbe, TransportError>?>(nil)
        await withCheckedContinuation { continuation in
            loop.post {
                transport.connect(target, timeout: timeout) { result in
                    let probe = result.map {
                        StreamProbe($0, on: transport.loop, readAtOnce: readAtOnce, pauseAt: pauseAt)
                    }
                    outcome.withLock { $0 = probe }
                    continuation.resume()
                }
            }
        }
        guard let result = outcome.withLock({ $0 }) else { preconditionFailure("resumed without an outcome") }
        return try result.get()
    }

    /// The error of a connection that must fail.
    func failure(_ target: StreamTarget, timeout: Duration = .seconds(10)) async -> TransportError? {
        do {
            try await connect(target, timeout: timeout).close()
            return nil
        } catch {
            return error as? TransportError
        }
    }
}

/// A stream and what came over it.
final class StreamProbe: Sendable {
    struct Seen: Sendable {
        var bytes: [UInt8] = []
        var hasEnded = false
        var error: TransportError?
        var events = 0
        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    let loop: EventLoop
    private let stream: LoopBound<Stream>
    private let pauseAt: Int
    private let state = Lock(Seen())

    /// Reading pauses by itself behind `pauseAt` bytes; with 0 the stream is not even looked at.
    init(_ stream: Stream, on loop: EventLoop, readAtOnce: Int = 4_096, pauseAt: Int = .max) {
        self.loop = loop
        self.stream = LoopBound(stream, on: loop)
        self.pauseAt = pauseAt
        stream.watch(pauseAt > 0 ? .readable : []) { [weak self] _ in self?.readOnce(readAtOnce) }
    }

    var seen: Seen { state.withLock { $0 } }

    /// One read for each event: the rest must be reported again.
    private func readOnce(_ limit: Int) {
        var buffer = [UInt8](repeating: 0, count: limit)
        let stream = stream.value
        let outcome = buffer.withUnsafeMutableBytes { buffer in
            Result { () throws(TransportError) in try stream.receive(into: buffer) }
        }
        state.withLock { seen in
            seen.events += 1
            switch outcome {
            case .success(.bytes(let count)): seen.bytes += buffer[..<count]
            case .success(.wouldBlock): break
            case .success(.end): seen.hasEnded = true
            case .failure(let error): seen.error = error
            }
        }
        if seen.hasEnded || seen.error != nil || seen.bytes.count >= pauseAt { stream.rewatch([]) }
    }

    /// Sends as much as is taken and says how much.
    func send(_ bytes: [UInt8]) async throws -> Int {
        let stream = stream
        return try await loop.run { try bytes.withUnsafeBytes { bytes in try stream.value.send(bytes) } }
    }

    /// Sends all of `bytes`, from buffers that move and change size each time.
    func sendAll(_ bytes: [UInt8]) async throws {
        var sent = 0
        try await eventually(within: .seconds(60), "everything sent") {
            sent += try await send(Array(bytes[sent...]))
            return sent == bytes.count
        }
    }

    func rewatch(_ interest: Readiness) async throws {
        let stream = stream
        try await loop.run { stream.value.rewatch(interest) }
    }

    func close() async throws {
        let stream = stream
        try await loop.run { stream.value.close() }
    }
}
