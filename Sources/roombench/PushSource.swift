internal import Glibc
internal import RoomsRuntime
internal import RoomsWebSocket
internal import RoomsWire

/// A server that has all of its events ready as bytes, and writes them as fast as its client reads: what is measured is
/// the client.
final class PushSource {
    static let rooms = 8

    let port: UInt16
    private let loop = EventLoop(name: "source")
    private let listener: CInt

    /// `events` are spread over the rooms in turn, one message in each frame.
    init(events: Int) {
        let held = HeldPort()
        port = held.number
        let listener = held.takeListener()
        self.listener = listener
        let box = LoopBound(PushConnection(SamplePush.frames(events), loop), on: loop)
        loop.start()
        loop.post { box.value.accept(from: listener) }
    }

    func end() {
        loop.stop()
        loop.join()
        close(listener)
    }
}

/// The one connection of a source; lives on its loop.
private final class PushConnection {
    private let frames: [UInt8]
    private let loop: EventLoop
    private let session = WebSocketSession(role: .server)
    private var request: [UInt8] = []
    private var isOpen = false
    private var joined = 0
    private var written = 0

    init(_ frames: [UInt8], _ loop: EventLoop) {
        self.frames = frames
        self.loop = loop
    }

    func accept(from listener: CInt) {
        loop.watch(listener, for: .readable) { [self] _ in
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            loop.unwatch(listener)
            loop.watch(descriptor, for: .readable) { [self] in
                if $0.contains(.readable) { read(descriptor) }
                if $0.contains(.writable) { push(descriptor) }
            }
        }
    }

    private func read(_ descriptor: CInt) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &chunk, chunk.count, CInt(MSG_DONTWAIT))
        guard count > 0 else {
            loop.unwatch(descriptor)
            close(descriptor)
            return
        }
        guard isOpen else { return upgrade(chunk[..<count], descriptor) }
        var replies: [UInt8] = []
        chunk[..<count].withUnsafeBytes { bytes in
            session.receive(bytes) { event in
                guard case .binary(let frame) = event else { return }
                try? ProtobufCodec.decodeCommands(frame) { answer($0, into: &replies) }
            }
        }
        guard !replies.isEmpty else { return }
        session.sendBinary(replies)
        var output: [UInt8] = []
        session.takeOutput(into: &output)
        _ = send(descriptor, output, output.count, CInt(MSG_NOSIGNAL))
        if joined == PushSource.rooms { push(descriptor) }
    }

    private func upgrade(_ bytes: ArraySlice<UInt8>, _ descriptor: CInt) {
        request += bytes
        let text = String(decoding: request, as: UTF8.self)
        guard text.hasSuffix("\r\n\r\n") else { return }
        let line = text.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }
        guard let key = line?.split(separator: " ").last else { fail("the client sends no key") }
        let accept = WebSocketHandshake.acceptValue(for: ByteString(String(key)))
        let answer = Array(
            """
            HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r
            Sec-WebSocket-Protocol: centrifuge-protobuf\r\nSec-WebSocket-Accept: \(accept.string)\r\n\r\n
            """.utf8
        )
        _ = send(descriptor, answer, answer.count, CInt(MSG_NOSIGNAL))
        isOpen = true
    }

    private func answer(_ command: Command, into replies: inout [UInt8]) {
        switch command.request {
        case .connect:
            ProtobufCodec.encode(Reply(id: command.id, .connect(ConnectResult())), into: &replies)
        case .subscribe:
            var result = SubscribeResult()
            result.positioned = true
            result.recoverable = true
            result.epoch = "epoch"
            ProtobufCodec.encode(Reply(id: command.id, .subscribe(result)), into: &replies)
            joined += 1
        default: break
        }
    }

    /// Writes what the socket takes; the rest when it takes more.
    private func push(_ descriptor: CInt) {
        while written < frames.count {
            let count = frames[written...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, min($0.count, 1 << 18), CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            guard count > 0 else { return loop.rewatch(descriptor, for: [.readable, .writable]) }
            written += count
        }
        loop.rewatch(descriptor, for: .readable)
    }
}
