internal import Glibc
internal import Rooms
internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

/// When each offset of one room was seen, by a plain subscriber (the frame came in) and by a receiver (the request came in).
final class LatencyProbe: Sendable {
    private struct Seen: Sendable {
        var frames: [UInt64: Instant] = [:]
        var requests: [UInt64: Instant] = [:]
        var isJoined = false
    }

    private let seen = Lock(Seen())

    func frameCame(_ offset: UInt64, at instant: Instant) {
        seen.withLock { $0.frames[offset] = instant }
    }

    func requestCame(_ offset: UInt64, at instant: Instant) {
        seen.withLock { if $0.requests[offset] == nil { $0.requests[offset] = instant } }
    }

    func joined() {
        seen.withLock { $0.isJoined = true }
    }

    var isJoined: Bool { seen.withLock { $0.isJoined } }
    var requests: Int { seen.withLock { $0.requests.count } }

    /// Milliseconds from frame to request, sorted.
    var latencies: [Double] {
        seen.withLock { seen in
            seen.requests.compactMap { offset, request in
                seen.frames[offset].map { Double((request - $0).wholeNanoseconds) / 1e6 }
            }.sorted()
        }
    }
}

/// The plain subscriber.
final class ProbeSink: EventSink {
    private let probe: LatencyProbe

    init(probe: LatencyProbe) {
        self.probe = probe
    }

    func take(_ items: [SinkItem]) -> Intake {
        let now = SystemClock.now
        for item in items {
            switch item {
            case .event(_, let publication, _, _): probe.frameCame(publication.offset, at: now)
            case .joined: probe.joined()
            default: break
            }
        }
        return .open
    }
}

/// A receiver on a loop of its own: reads requests, notes when they came, answers 204.
final class ProbeReceiver {
    let port: UInt16
    private let loop = EventLoop(name: "receiver")
    private let listener: CInt

    init(probe: LatencyProbe) {
        let held = HeldPort()
        port = held.number
        let listener = held.takeListener()
        self.listener = listener
        let box = LoopBound(Connections(probe: probe, loop: loop), on: loop)
        loop.start()
        loop.post { box.value.accept(from: listener) }
    }

    func end() {
        loop.stop()
        loop.join()
        close(listener)
    }

    /// The accepted connections; lives on the loop.
    private final class Connections {
        private let probe: LatencyProbe
        private let loop: EventLoop
        private var pending: [CInt: [UInt8]] = [:]

        init(probe: LatencyProbe, loop: EventLoop) {
            self.probe = probe
            self.loop = loop
        }

        func accept(from listener: CInt) {
            loop.watch(listener, for: .readable) { [self] _ in
                let descriptor = Glibc.accept(listener, nil, nil)
                guard descriptor >= 0 else { return }
                var one: CInt = 1
                setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
                pending[descriptor] = []
                loop.watch(descriptor, for: .readable) { [self] _ in read(descriptor) }
            }
        }

        private func read(_ descriptor: CInt) {
            let now = SystemClock.now
            var chunk = [UInt8](repeating: 0, count: 16_384)
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else {
                loop.unwatch(descriptor)
                pending[descriptor] = nil
                close(descriptor)
                return
            }
            var bytes = (pending[descriptor] ?? []) + chunk[0..<count]
            let text = String(decoding: bytes, as: UTF8.self)
            // One request at a time and no pipelining: the body is complete when its last brace pair is.
            if text.contains("\r\n\r\n"), text.hasSuffix("}}}"), let offset = Self.offset(in: text) {
                probe.requestCame(offset, at: now)
                bytes = []
                let answer = Array("HTTP/1.1 204 No Content\r\n\r\n".utf8)
                _ = send(descriptor, answer, answer.count, CInt(MSG_NOSIGNAL))
            }
            pending[descriptor] = bytes
        }

        private static func offset(in text: String) -> UInt64? {
            let line = text.split(separator: "\r\n").first { $0.lowercased().hasPrefix("roombridge-offset:") }
            return line?.split(separator: " ").last.flatMap { UInt64($0) }
        }
    }
}
