import BridgeTestSupport
import RoomsRuntime
import RoomsWire

@testable import Rooms

/// A server with its streams and one connection, that does at random what servers do: publish, trim, answer late, drop
/// the link, start anew with another epoch, come back from an older copy.
///
/// It remembers everything it ever published, so that a check can ask of each event what became of it.
struct ServerModel {
    struct Fact {
        var room: Int
        var epoch: ByteString
        var offset: UInt64
        /// The payload: unique.
        var text: String
        /// Gone with a stream that went back or was replaced before the client could have it.
        var isErased = false
    }

    var bench: ConnectionBench
    var facts: [Fact] = []
    /// The rooms that the server takes for subscribed on this connection.
    private var subscribed: Set<ByteString> = []
    /// What the server has written and the client has not read.
    private var outbox: [Reply] = []
    private var random: SeededRandom
    private let names: [ByteString]
    private var epochs = 0
    /// Now and then it puts the client into rooms by itself; these it is in by that.
    private let choosesRooms: Bool
    private var chosen: Set<ByteString> = []

    init(rooms: Int, seed: UInt64, choosesRooms: Bool = false) {
        self.choosesRooms = choosesRooms
        random = SeededRandom(seed: seed)
        names = (0..<rooms).map { ByteString("r\($0)") }
        let starts: [RoomStart] = [.now, .earliest]
        var policy = ConnectionPolicy()
        policy.liveBufferBytes = 2_000
        bench = ConnectionBench(
            names.enumerated().map { RoomSpecification(name: $1, start: starts[$0 % 2]) },
            policy: policy,
            seed: seed
        )
        for name in names {
            epochs += 1
            var stream = StreamModel(epoch: ByteString("E\(epochs)"))
            stream.historySize = Int.random(in: 5...60, using: &random)
            stream.recoveryLimit = Int.random(in: 1...20, using: &random)
            stream.pageLimit = Int.random(in: 1...20, using: &random)
            stream.isHistoryAllowed = !random.one(in: 4)
            bench.streams[name] = stream
        }
        bench.start()
    }

    // MARK: steps

    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45: publish(Int.random(in: 1...3, using: &random))
        case 45..<70: readCommand()
        case 70..<90: deliver()
        case 90..<93: drop(code: [1006, 3001, 3008, 3010].randomElement(using: &random) ?? 1006)
        case 93: trim()
        case 94: replaceStream()
        case 95: goBack()
        case 96: restartClient()
        case 97 where choosesRooms && random.one(in: 2): choose()
        case 97: pass(.milliseconds(Int64.random(in: 1...20_000, using: &random)))
        default: openOrWait()
        }
    }

    /// No more accidents: everything that is on its way arrives.
    mutating func calmDown() {
        for _ in 0..<20_000 {
            openOrWait()
            while !bench.commands.isEmpty || !outbox.isEmpty {
                readCommand()
                deliver()
            }
            let isDone = bench.isReady && bench.machine.sessions.allSatisfy { $0.state == .live }
            if isDone, bench.commands.isEmpty, outbox.isEmpty {
                checkPositions()
                if outbox.isEmpty, bench.isReady { return }
            }
            pass(.seconds(1))
        }
    }

    /// What a real server does each 40 s: a client that lags behind is told to join again.
    private mutating func checkPositions() {
        for (name, session) in zip(names, bench.machine.sessions)
        where session.position?.offset != bench.streams[name]?.top {
            if chosen.contains(name) { return drop(code: 3010) }
            subscribed.remove(name)
            outbox.append(Reply(id: 0, .push(Push(channel: name, .unsubscribe(code: 2500, reason: "")))))
        }
    }

    private mutating func openOrWait() {
        switch bench.machine.state {
        case .dialling: bench.open()
        case .waiting: bench.waitForRetry()
        default: break
        }
    }

    private mutating func pass(_ time: Duration) {
        bench.pass(time)
        forgetClosed()
    }

    /// The client closed by itself.
    private mutating func forgetClosed() {
        switch bench.machine.state {
        case .authenticating, .ready: break
        default:
            forgetConnection()
            bench.commands = []
        }
    }

    private mutating func forgetConnection() {
        subscribed = []
        chosen = []
        outbox = []
    }

    private mutating func publish(_ count: Int) {
        let room = Int.random(in: 0..<names.count, using: &random)
        for _ in 0..<count {
            let text = "\(facts.count)"
            guard let publication = bench.streams[names[room]]?.publish(text) else { return }
            let epoch = bench.streams[names[room]]?.epoch ?? .empty
            facts.append(Fact(room: room, epoch: epoch, offset: publication.offset, text: text))
            guard subscribed.contains(names[room]) else { continue }
            // Now and then a message is lost on the server's side, or sent twice.
            if random.one(in: 60) { continue }
            let push = Reply(id: 0, .push(Push(channel: names[room], .publication(publication))))
            outbox.append(push)
            if random.one(in: 60) { outbox.append(push) }
        }
    }

    private mutating func readCommand() {
        guard !bench.commands.isEmpty else { return }
        let command = bench.commands.removeFirst()
        if case .connect(let request) = command.request {
            outbox.append(Reply(id: command.id, .connect(welcome(request))))
            return
        }
        if case .subscribe(let request) = command.request, subscribed.contains(request.channel) {
            outbox.append(Reply(id: command.id, .error(ErrorReply(code: 105, message: "already subscribed"))))
            return
        }
        if case .subscribe(let request) = command.request {
            if random.one(in: 30) {
                outbox.append(Reply(id: command.id, .error(ErrorReply(code: 100, message: "later", isTemporary: true))))
                return
            }
            subscribed.insert(request.channel)
        }
        if case .unsubscribe(let channel) = command.request {
            subscribed.remove(channel)
            chosen.remove(channel)
        }
        if let body = bench.honestAnswer(command.request) { outbox.append(Reply(id: command.id, body)) }
    }

    /// The rooms of its own choice, and those that the client names.
    private mutating func welcome(_ request: ConnectRequest) -> ConnectResult {
        var result = ConnectResult.plain
        for name in names {
            let listed = request.subs.first { $0.channel == name }?.request
            guard listed != nil || choosesRooms && random.one(in: 2) else { continue }
            subscribed.insert(name)
            chosen.insert(name)
            guard let answer = bench.streams[name]?.subscribe(listed ?? SubscribeRequest()) else { continue }
            result.subs.append(NamedSubscribeResult(channel: name, result: answer))
        }
        return result
    }

    /// The server puts the client into a room while it is connected.
    private mutating func choose() {
        guard let name = names.randomElement(using: &random), bench.isReady, !subscribed.contains(name),
            let answer = bench.streams[name]?.subscribe(SubscribeRequest())
        else { return }
        subscribed.insert(name)
        chosen.insert(name)
        var push = SubscribePush()
        push.recoverable = answer.recoverable
        push.positioned = answer.positioned
        push.epoch = answer.epoch
        push.offset = answer.offset
        outbox.append(Reply(id: 0, .push(Push(channel: name, .subscribe(push)))))
    }

    /// The client reads some of what the server wrote, as one frame.
    private mutating func deliver() {
        guard !outbox.isEmpty else { return }
        let count = Int.random(in: 1...min(16, outbox.count), using: &random)
        let frame = Array(outbox.prefix(count))
        outbox.removeFirst(count)
        bench.receive(all: frame)
        forgetClosed()
    }

    private mutating func drop(code: UInt16) {
        // What was written before the close arrives, or not.
        while !outbox.isEmpty, random.one(in: 2) { deliver() }
        forgetConnection()
        bench.close(code)
    }

    private mutating func trim() {
        let name = names[Int.random(in: 0..<names.count, using: &random)]
        let top = bench.streams[name]?.top ?? 0
        bench.streams[name]?.trim(upTo: UInt64.random(in: 0...top, using: &random))
    }

    /// The stream is lost; the client hears of it by 2500, or with the next connection.
    private mutating func replaceStream() {
        let room = Int.random(in: 0..<names.count, using: &random)
        let name = names[room]
        epochs += 1
        erase(room: room, after: 0)
        bench.streams[name]?.restart(epoch: ByteString("E\(epochs)"))
        if chosen.contains(name) { return drop(code: 3010) }
        if subscribed.remove(name) != nil {
            outbox.append(Reply(id: 0, .push(Push(channel: name, .unsubscribe(code: 2500, reason: "")))))
        }
    }

    /// The server comes back from an older copy, and the client before anything is published.
    private mutating func goBack() {
        let room = Int.random(in: 0..<names.count, using: &random)
        let top = bench.streams[names[room]]?.top ?? 0
        guard top > 0 else { return }
        drop(code: 1006)
        let offset = UInt64.random(in: 0..<top, using: &random)
        erase(room: room, after: offset)
        bench.streams[names[room]]?.goBack(to: offset)
        calmDown()
    }

    private mutating func erase(room: Int, after offset: UInt64) {
        let epoch = bench.streams[names[room]]?.epoch
        for index in facts.indices where facts[index].room == room && facts[index].epoch == epoch {
            if facts[index].offset > offset { facts[index].isErased = true }
        }
    }

    /// The process ends and starts again behind what its sink took.
    private mutating func restartClient() {
        let rooms = bench.machine.sessions.map { session in
            RoomSpecification(
                name: session.name,
                start: session.isAnchored ? session.position.map { .resume($0) } ?? .now : session.firstStart
            )
        }
        forgetConnection()
        bench.commands = []
        bench.machine = ConnectionStateMachine(policy: bench.machine.policy, rooms: rooms)
        bench.start()
    }
}

extension SessionStateMachine {
    fileprivate var firstStart: RoomStart { startsEarliest ? .earliest : .now }
}
