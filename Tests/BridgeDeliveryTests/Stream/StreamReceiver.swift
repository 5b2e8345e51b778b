import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import RoomsWire

/// A receiver of lines on a Unix socket: each connection is served by a closure on a thread of its own.
final class StreamReceiver: Sendable {
    let path: String
    private let folder: TemporaryDirectory
    private let server: Lock<RawServer?>
    private let taken = Lock<[StreamLine]>([])

    init(_ serve: @escaping @Sendable (StreamPeer) -> Void) throws {
        folder = try TemporaryDirectory()
        path = folder.file("s")
        server = Lock(nil)
        try listen(serve)
    }

    /// Begins to listen, in place of what listened before.
    func listen(_ serve: @escaping @Sendable (StreamPeer) -> Void) throws {
        unlink(path)
        let taken = taken
        let served = Lock(0)
        let new = try RawServer(unixPath: path) { connection in
            let number = served.withLock { served in
                served += 1
                return served
            }
            serve(StreamPeer(connection, number: number) { line in taken.withLock { $0.append(line) } })
        }
        server.withLock { server in
            server?.stop()
            server = new
        }
    }

    var target: StreamTarget { StreamTarget(unixPath: ByteString(path)) }
    var connections: Int { server.withLock { $0?.connections ?? 0 } }

    /// What receivers noted, in order.
    var lines: [StreamLine] { taken.withLock { $0 } }

    func stop() {
        unlink(path)
        server.withLock { server in
            server?.stop()
            server = nil
        }
    }

    /// Whether each room came whole and in order, events twice at most where a connection had ended.
    func arrivedInOrder(rooms: Int, events: Int) -> Bool {
        (1...rooms).allSatisfy { room in
            var last = 0
            for line in lines where line.room == "room:\(room)" {
                guard line.seq <= last + 1 else { return false }
                last = max(last, line.seq)
            }
            return last == events
        }
    }
}

/// One line as a receiver sees it.
struct StreamLine: Sendable {
    let bytes: [UInt8]
    let op: ByteString?
    let n: Int
    let attempt: Int
    let room: String
    let seq: Int
    let previousSeq: Int
    let skipped: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let root = try? JSONDocument.parse(bytes).root
        op = root?["op"]?.string
        n = root?["n"]?.integer() ?? 0
        attempt = root?["attempt"]?.integer() ?? 0
        room = root?["data"]?["room"]?.string?.string ?? ""
        let meta = root?["data"]?["meta"]
        seq = meta?["seq"]?.integer() ?? 0
        previousSeq = meta?["prev_seq"]?.integer() ?? -1
        skipped = meta?["skipped"]?.integer() ?? 0
    }
}

/// One connection of a receiver.
final class StreamPeer {
    let connection: RawConnection
    /// Counts the connections, from 1.
    let number: Int
    private let note: (StreamLine) -> Void
    private var input: [UInt8] = []

    init(_ connection: RawConnection, number: Int, note: @escaping (StreamLine) -> Void) {
        self.connection = connection
        self.number = number
        self.note = note
    }

    /// The next line, noted when it is an event; nil at the end.
    func next() -> StreamLine? {
        while true {
            if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                let line = StreamLine(Array(input[..<end]))
                input.removeFirst(end + 1)
                if line.seq > 0 { note(line) }
                return line
            }
            let bytes = connection.read()
            if bytes.isEmpty { return nil }
            input += bytes
        }
    }

    /// Whether another line, or the end, comes within that time.
    func hasMore(within limit: Duration) -> Bool {
        input.contains(UInt8(ascii: "\n")) || connection.hasInput(within: limit)
    }

    /// The next event, whatever else comes before it.
    func nextEvent() -> StreamLine? {
        while let line = next() {
            if line.seq > 0 { return line }
        }
        return nil
    }

    /// Reads exactly `count` bytes and gives the lines that are complete; false at the end.
    func take(_ count: Int, _ heed: (StreamLine) -> Void) -> Bool {
        var left = count
        while left > 0 {
            let bytes = connection.read(left)
            if bytes.isEmpty { return false }
            left -= bytes.count
            input += bytes
            while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                let line = StreamLine(Array(input[..<end]))
                input.removeFirst(end + 1)
                if line.seq > 0 { note(line) }
                heed(line)
            }
        }
        return true
    }

    /// Says hello and waits for ours.
    func greet(_ hello: String = #"{"op":"hello","v":1}"#) {
        guard next() != nil else { return }
        say(hello)
    }

    func say(_ line: String) { connection.write(line + "\n") }

    func acknowledgeAll() {
        while let line = nextEvent() { say(#"{"op":"ack","n":\#(line.n)}"#) }
    }
}
