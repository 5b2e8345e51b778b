import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsWire

/// Plays a scenario against a server and writes down what it says.
final class Player {
    private let server: ServerUnderTest
    private var naming = Naming()
    private var peers: [String: Peer] = [:]
    private var account = Account()
    private var step = 0
    /// Connections that may be asked for an answer.
    private var connected: Set<String> = []
    private var counts: [String: [Heard.Kind: Int]] = [:]
    private var fences: UInt32 = 4_000_000_000

    private struct NothingCame: Error {}

    init(_ server: ServerUnderTest) {
        self.server = server
    }

    func play(_ scenario: Scenario) -> Account {
        for (index, step) in scenario.steps.enumerated() {
            self.step = index + 1
            do {
                try play(step)
            } catch is NothingCame {
                account.stop = "step \(index + 1): \(step)"
                break
            } catch {
                account.stop = "step \(index + 1): \(step): \(error)"
                break
            }
        }
        // What nobody waited for belongs to the account too.
        if account.stop == nil { try? settle() }
        return account
    }

    private func play(_ step: Scenario.Step) throws {
        switch step {
        case .open(let connection): try open(connection)
        case .text(let name, let text, let isBinary):
            try peer(name).send(Array(Template.fill(text, naming).utf8), isText: !isBinary)
        case .commands(let name, let commands): try send(commands.map { Template.fill($0, naming) }, on: name)
        case .say(let name, let text): try say(text, on: name)
        case .bytes(let name, let bytes, let isText): try peer(name).send(bytes, isText: isText)
        case .call(let call): try self.call(call)
        case .publish(let numbers, let room):
            for number in numbers {
                let body = #"{"channel":"\#(room)","data":{"n":\#(number)}}"#
                _ = try server.request(Scenario.Call(line: "POST /api/publish"), body: Array(body.utf8))
            }
        case .hear(let name, let count):
            for _ in 0..<count where try peer(name).end == nil || !peer(name).messages.isEmpty {
                guard try next(of: name) || peer(name).end != nil else { throw NothingCame() }
            }
        case .await(let name, let kind, let total):
            while counts[name]?[kind] ?? 0 < total {
                guard try next(of: name) else { throw NothingCame() }
            }
        case .settle: try settle()
        case .end(let name):
            while try next(of: name) {}
            guard try peer(name).end != nil else { throw NothingCame() }
            noteEnd(of: name)
        case .close(let name): try close(name)
        case .pause(let duration): pump(until: SystemClock.now + duration) { false }
        case .stop(let isKilled): server.stop(isKilled: isKilled)
        case .start: try server.start()
        }
    }

    private func peer(_ name: String) throws -> Peer {
        guard let peer = peers[name] else { throw TestFailure("no connection \(name)") }
        return peer
    }

    private func open(_ connection: Scenario.Connection) throws {
        let peer = try Peer(connection, port: server.port)
        peers[connection.name] = peer
        connected.remove(connection.name)
        counts[connection.name] = [:]
        account.note(peer.isOpen ? .opened(peer.answer) : .refused(peer.answer), of: connection.name, step: step)
        if !peer.isOpen { peers[connection.name] = nil }
    }

    // MARK: saying

    private func send(_ commands: [Command], on name: String) throws {
        var frame: [UInt8] = []
        for command in commands { ProtobufCodec.encode(command, into: &frame) }
        try peer(name).send(frame, isText: false)
    }

    private func say(_ text: String, on name: String) throws {
        let filled = Array(Template.fill(text, naming).utf8)
        guard try peer(name).isProtobuf else { return try peer(name).send(filled, isText: true) }
        var commands: [Command] = []
        try filled.withUnsafeBytes { try JSONCodec.decodeCommands($0) { commands.append($0) } }
        try send(commands, on: name)
    }

    private func call(_ call: Scenario.Call) throws {
        let body = call.body.map { body in
            String(validating: body, as: UTF8.self).map { Array(Template.fill($0, naming).utf8) } ?? body
        }
        let answer = try server.request(call, body: body)
        var heard = Heard(json: answer.body, by: Account.api, &naming)
        heard.text = "\(answer.status) \(answer.type) \(heard.text)"
        account.note(.answered(heard), of: Account.api, step: step)
    }

    // MARK: hearing

    /// Reads every connection until `isDone` or the time is over.
    private func pump(until deadline: Instant, _ isDone: () -> Bool) {
        while !isDone() {
            let open = peers.values.filter(\.isOpen)
            let left = deadline - SystemClock.now
            guard left > .zero else { return }
            var descriptors = open.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            let milliseconds = left.components.seconds * 1_000 + left.components.attoseconds / 1_000_000_000_000_000
            poll(&descriptors, nfds_t(descriptors.count), CInt(clamping: min(1_000, milliseconds + 1)))
            for (peer, descriptor) in zip(open, descriptors) where descriptor.revents != 0 { peer.read() }
        }
    }

    /// Waits for the next message and notes it; false when the connection has ended or nothing comes.
    private func next(of name: String, unless fence: UInt32? = nil) throws -> Bool {
        let peer = try peer(name)
        pump(until: SystemClock.now + Self.patience) { !peer.messages.isEmpty || peer.end != nil }
        account.largestFrame = max(account.largestFrame, peer.largestFrame)
        guard let message = peer.takeMessage() else { return false }
        var heard: Heard
        switch message {
        case .json(let bytes): heard = Heard(json: bytes, by: name, &naming)
        case .protobuf(let reply): heard = Heard(reply, by: name, &naming)
        case .broken(let what): heard = Heard(text: what, kind: .other)
        }
        heard.step = step
        if heard.kind == .reply, let fence, heard.id == fence { return false }
        if heard.isConnection { connected.insert(name) }
        counts[name]?[heard.kind, default: 0] += 1
        account.note(.heard(heard), of: name, step: step)
        return true
    }

    static let patience = Duration.seconds(6)

    /// Asks every connected connection something harmless: what comes before the answer was on its way.
    private func settle() throws {
        for name in connected.sorted() where peers[name]?.isOpen == true {
            fences += 1
            try say(#"{"id":\#(fences),"unsubscribe":{"channel":"fence"}}"#, on: name)
            while try next(of: name, unless: fences) {}
            if try peer(name).end != nil { noteEnd(of: name) }
        }
    }

    private func close(_ name: String) throws {
        let peer = try peer(name)
        guard peer.end == nil else { return noteEnd(of: name) }
        peer.sendClose()
        while try next(of: name) {}
        peers[name] = nil
        connected.remove(name)
    }

    private func noteEnd(of name: String) {
        guard let peer = peers[name], let end = peer.end else { return }
        account.note(.ended(end), of: name, step: step)
        peers[name] = nil
        connected.remove(name)
    }
}
