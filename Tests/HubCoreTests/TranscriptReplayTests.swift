import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// The client's side of a real server's recordings, played against the hub: what it says must be the same.
///
/// Left out of the comparison: ids of connections, versions, epochs (each of the server's stands for one of ours), and
/// join pushes, which this hub does not send.
@Suite struct TranscriptReplayTests {
    static let scenarios = [
        "protobuf-binary", "protobuf-binary-payload", "protobuf-broadcast", "protobuf-connect-anonymous",
        "protobuf-connect-token", "protobuf-history", "protobuf-mistakes", "protobuf-payloads", "protobuf-recover-all",
        "protobuf-recover-trimmed", "protobuf-recover-wrong", "protobuf-subscribe-kinds", "protobuf-unsubscribe-race",
    ]

    @Test("the hub says what the real server said", arguments: scenarios)
    func replay(_ scenario: String) throws {
        var replay = try Replay()
        for line in try Transcript(named: scenario).lines { try replay.play(line) }
        #expect(replay.compared > 0)
    }
}

/// A hub, the connections of a recording, and what stands for what.
private struct Replay {
    let hub: RunningHub
    var clients: [ByteString: WireClient] = [:]
    /// Epochs of the recording to ours.
    var epochs: [ByteString: ByteString] = [:]
    var compared = 0

    init() throws {
        hub = try RunningHub()
    }

    mutating func play(_ line: JSONNode) throws {
        let connection = line["conn"]?.string ?? .empty
        let client = clients[connection]
        if line["event"]?.string == "open" {
            clients[connection] = try WireClient(port: hub.port)
        } else if line["event"]?.string == "close" {
            if line["by"]?.string == "server" {
                let end = try #require(client).readToClose()
                #expect(end.code == line["code"]?.integer())
                #expect(end.reason == line["reason"]?.string)
                compared += 1
            }
            clients[connection] = nil
        } else if let note = line["note"]?.string?.string {
            try publish(note)
        } else if let api = line["api"]?.string {
            try call(api.string, line)
        } else if line["from"]?.string == "client" {
            try send(line, try #require(client))
        } else if let means = line["means"]?.elements {
            try hear(line, means, try #require(client))
        }
    }

    /// A note that publications were left out of the recording: `published n=1..5 to order:r1 (not shown)`.
    private func publish(_ note: String) throws {
        guard let match = note.firstMatch(of: /published n=(\d+)\.\.(\d+) to (\S+)/), let first = Int(match.1),
            let last = Int(match.2)
        else { return }
        for number in first...last {
            _ = try hub.api("publish", #"{"channel":"\#(match.3)","data":{"n":\#(number)}}"#)
        }
    }

    private mutating func call(_ api: String, _ line: JSONNode) throws {
        let raw = line["request_hex"]?.string.map { Hex.bytes($0.string) }
        let body = raw.map(encoded) ?? line["request"]?.string?.bytes
        let answer = try hub.request(api, headers: ["X-API-Key: api-key-for-tests"], body: body)
        #expect(answer.status == line["status"]?.integer())
        guard let expected = line["response"]?.string?.string else { return }
        for (theirs, ours) in zip(expected.matches(of: epochText), answer.body.matches(of: epochText)) {
            epochs[ByteString(String(theirs.1))] = ByteString(String(ours.1))
        }
        #expect(translated(expected) == answer.body)
        compared += 1
    }

    /// A publish request that is not UTF-8, which our API does not take, with its data in base64.
    private func encoded(_ request: [UInt8]) -> [UInt8] {
        guard String(validating: request, as: UTF8.self) == nil,
            let key = request.firstRange(of: Array(#","data":"#.utf8))
        else { return request }
        let data = Base64.encode(request[key.upperBound..<(request.count - 1)])
        return request[..<key.lowerBound] + Array(#","b64data":""#.utf8) + data + Array(#""}"#.utf8)
    }

    private var epochText: Regex<(Substring, Substring)> { /"epoch":"(\w{8})"/ }

    private func translated(_ text: String) -> String {
        epochs.reduce(text) { $0.replacingOccurrences(of: $1.key.string, with: $1.value.string) }
    }

    private mutating func send(_ line: JSONNode, _ client: WireClient) throws {
        guard let hex = line["hex"]?.string?.string else {
            // Text frames with protobuf in them.
            return try client.send(frame: line["text"]?.string?.bytes ?? [])
        }
        let frame = Hex.bytes(hex)
        guard line["means"] != nil else { return try client.send(frame: frame) }
        var commands: [Command] = []
        try frame.withUnsafeBytes { try ProtobufCodec.decodeCommands($0) { commands.append($0) } }
        var translated: [UInt8] = []
        for command in commands { ProtobufCodec.encode(translate(command), into: &translated) }
        try client.send(frame: translated)
    }

    private func translate(_ command: Command) -> Command {
        var command = command
        switch command.request {
        case .connect(var request):
            // The recorded tokens have expired, or will.
            guard !request.token.isEmpty else { break }
            request.token = Conversation.token(#"{"sub":"\#(user(of: request.token))"}"#)
            command.request = .connect(request)
        case .subscribe(var request):
            request.epoch = epochs[request.epoch] ?? request.epoch
            command.request = .subscribe(request)
        case .history(var request):
            if let since = request.since { request.since?.epoch = epochs[since.epoch] ?? since.epoch }
            command.request = .history(request)
        default: break
        }
        return command
    }

    private func user(of token: ByteString) -> String {
        let claims = token.bytes.split(separator: 0x2e).dropFirst().first.flatMap { Base64.decodeURL($0) } ?? []
        return (try? JSONDocument.parse(claims).root["sub"]?.string?.string) ?? ""
    }

    private mutating func hear(_ line: JSONNode, _ means: [JSONNode], _ client: WireClient) throws {
        var expected: [Reply] = []
        try Hex.bytes(try #require(line["hex"]?.string?.string)).withUnsafeBytes { frame in
            try ProtobufCodec.decodeReplies(frame) { expected.append($0) }
        }
        #expect(expected.count == means.count)
        for theirs in expected {
            if case .push(let push) = theirs.body, case .join = push.body { continue }
            let ours = try client.next()
            pair(theirs, ours)
            #expect(normalized(theirs) == ours.comparable, "line \(line.line)")
            compared += 1
        }
    }

    /// Learns which of our epochs stands for theirs.
    private mutating func pair(_ theirs: Reply, _ ours: Reply) {
        switch (theirs.body, ours.body) {
        case (.subscribe(let left), .subscribe(let right)) where !left.epoch.isEmpty && !right.epoch.isEmpty:
            epochs[left.epoch] = epochs[left.epoch] ?? right.epoch
        case (.push(let left), .push(let right)):
            guard case .publication(let their) = left.body, case .publication(let our) = right.body else { return }
            if !their.epoch.isEmpty, !our.epoch.isEmpty { epochs[their.epoch] = epochs[their.epoch] ?? our.epoch }
        default: break
        }
    }

    /// Theirs with our epochs, without what differs by nature.
    private func normalized(_ reply: Reply) -> Reply {
        var reply = reply.comparable
        switch reply.body {
        case .subscribe(var result):
            result.epoch = epochs[result.epoch] ?? result.epoch
            reply.body = .subscribe(result)
        case .history(var result):
            result.epoch = epochs[result.epoch] ?? result.epoch
            reply.body = .history(result)
        case .push(var push):
            guard case .publication(var publication) = push.body else { break }
            publication.epoch = epochs[publication.epoch] ?? publication.epoch
            push.body = .publication(publication)
            reply.body = .push(push)
        default: break
        }
        return reply
    }
}

extension Reply {
    /// The reply without ids of connections, versions and times to live.
    fileprivate var comparable: Reply {
        func plain(_ publication: Publication) -> Publication {
            var publication = publication
            publication.info?.client = "client"
            // A map has no order.
            publication.tags.sort { $0.key < $1.key }
            return publication
        }
        var reply = self
        switch body {
        case .connect(var result):
            (result.client, result.version, result.expires, result.ttl) = ("client", "version", false, 0)
            reply.body = .connect(result)
        case .subscribe(var result):
            result.publications = result.publications.map(plain)
            reply.body = .subscribe(result)
        case .history(var result):
            result.publications = result.publications.map(plain)
            reply.body = .history(result)
        case .push(var push):
            guard case .publication(let publication) = push.body else { break }
            push.body = .publication(plain(publication))
            reply.body = .push(push)
        default: break
        }
        return reply
    }
}
