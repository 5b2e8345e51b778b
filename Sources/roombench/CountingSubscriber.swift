internal import Glibc
internal import RoomsRuntime
internal import RoomsWire

/// A subscriber that only counts what it gets, so that what sends it is the slower of the two.
final class CountingSubscriber {
    private let loop = EventLoop(name: "subscriber")
    private let descriptor: CInt
    private let heard = Lock(0)

    /// Joins the room; returns when both answers are here.
    init(port: UInt16, room: ByteString, format: WireFormat) {
        descriptor = openConnection(port: port)
        var commands: [UInt8] = []
        var request = SubscribeRequest()
        request.channel = room
        for command in [Command(id: 1, .connect(ConnectRequest())), Command(id: 2, .subscribe(request))] {
            switch format {
            case .protobuf: ProtobufCodec.encode(command, into: &commands)
            case .json:
                JSONCodec.encode(command, into: &commands)
                commands.append(UInt8(ascii: "\n"))
            }
        }
        guard commands.count < 126 else { fail("the name of the room is too long") }
        let head = """
            GET /connection/websocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
            Sec-WebSocket-Protocol: \(format.subprotocol.string)\r\n\r\n
            """
        // A mask of zeros leaves the bytes as they are.
        let frame: [UInt8] = [format == .json ? 0x81 : 0x82, 0x80 | UInt8(commands.count), 0, 0, 0, 0] + commands
        let upgrade = Array(head.utf8)
        guard send(descriptor, upgrade, upgrade.count, CInt(MSG_NOSIGNAL)) == upgrade.count else {
            fail("the server hung up")
        }
        let counter = FrameCounter(format: format)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 8)
        var answer: [UInt8] = []
        while answer.firstRange(of: Array("\r\n\r\n".utf8)) == nil {
            let count = recv(descriptor, buffer.baseAddress, 1_024, 0)
            guard count > 0 else { fail("no upgrade: \(String(decoding: answer, as: UTF8.self))") }
            answer += buffer[..<count]
        }
        guard send(descriptor, frame, frame.count, CInt(MSG_NOSIGNAL)) == frame.count else {
            fail("the server hung up")
        }
        let (descriptor, heard) = (descriptor, heard)
        let box = LoopBound((counter, buffer), on: loop)
        loop.start()
        loop.post { [loop] in
            loop.watch(descriptor, for: .readable) { _ in
                let (counter, buffer) = box.value
                let count = recv(descriptor, buffer.baseAddress, buffer.count, CInt(MSG_DONTWAIT))
                guard count > 0 else { return loop.unwatch(descriptor) }
                counter.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                heard.withLock { $0 = counter.count }
            }
        }
        guard waitFor(0) else { fail("no answer to the subscription") }
    }

    /// Publications so far; the two answers are not among them.
    var count: Int { heard.withLock { $0 } - 2 }

    /// False when nothing moves for 10 s.
    func waitFor(_ target: Int) -> Bool {
        var last = count
        var quiet = Stopwatch()
        while last < target {
            pause(milliseconds: 1)
            let now = count
            if now != last { quiet = Stopwatch() }
            last = now
            if quiet.seconds > 10 { return false }
        }
        return true
    }

    func end() {
        loop.stop()
        loop.join()
        close(descriptor)
    }
}

/// Counts the messages in a stream of WebSocket frames without a look at what they say.
private final class FrameCounter {
    private let format: WireFormat
    private var bytes: [UInt8] = []
    private(set) var count = 0

    init(format: WireFormat) {
        self.format = format
    }

    func take(_ chunk: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: chunk)
        let taken = bytes.withUnsafeBytes { bytes in
            var start = 0
            while let body = Self.body(of: bytes, at: start) {
                count += messages(in: bytes, body)
                start = body.upperBound
            }
            return start
        }
        bytes.removeSubrange(..<taken)
    }

    /// Where the payload of the frame at `start` is; nil when not all of it is here.
    private static func body(of bytes: UnsafeRawBufferPointer, at start: Int) -> Range<Int>? {
        guard bytes.count >= start + 2 else { return nil }
        var length = Int(bytes[start + 1] & 0x7f)
        let extra = length == 126 ? 2 : length == 127 ? 8 : 0
        guard bytes.count >= start + 2 + extra else { return nil }
        if extra > 0 {
            length = 0
            for index in 0..<extra { length = length << 8 | Int(bytes[start + 2 + index]) }
        }
        guard bytes[start] & 0xf < 8 else { fail("the server closed the connection") }
        let begin = start + 2 + extra
        return bytes.count >= begin + length ? begin..<(begin + length) : nil
    }

    private func messages(in bytes: UnsafeRawBufferPointer, _ body: Range<Int>) -> Int {
        if format == .json { return bytes[body].reduce(1) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) } }
        var (index, count) = (body.lowerBound, 0)
        while index < body.upperBound {
            var (length, shift) = (0, 0)
            repeat {
                length |= Int(bytes[index] & 0x7f) << shift
                shift += 7
                index += 1
            } while bytes[index - 1] & 0x80 != 0
            index += length
            count += 1
        }
        return count
    }
}
