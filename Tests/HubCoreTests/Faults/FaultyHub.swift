import Foundation
import LocalHTTP
import RoomsRuntime
import RoomsWire

@testable import HubCore

/// A hub on several free ports that takes faults on another one.
final class FaultyHub: Sendable {
    let hub: RunningHub
    let addresses: [String]
    let faultPort: UInt16

    init(listeners: Int = 1, _ change: (inout HubConfiguration) -> Void = { _ in }) throws {
        hub = try RunningHub {
            $0.listen = Array(repeating: "127.0.0.1:0", count: listeners)
            $0.faults = "127.0.0.1:0"
            change(&$0)
        }
        guard let port = hub.server.faultAddress?.port else { throw TestFailure("no faults are taken") }
        faultPort = port
        let report = try Self.report(port)
        addresses = (report["listeners"]?.elements ?? []).compactMap { $0["address"]?.string?.string }
    }

    func port(_ listener: Int) throws -> UInt16 {
        guard let port = UInt16(addresses[listener].split(separator: ":").last ?? "") else {
            throw TestFailure("no port in \(addresses[listener])")
        }
        return port
    }

    /// A request for a fault, as its answer.
    func ask(_ name: String, _ body: String = "{}", headers: [String] = []) throws -> Answer {
        try Self.request(faultPort, "POST /faults/\(name)", body, headers)
    }

    /// What stands behind `result`; anything but 200 fails the test.
    @discardableResult
    func fault(_ name: String, _ body: String = "{}") throws -> String {
        let answer = try ask(name, body)
        guard answer.status == 200, answer.body.hasPrefix(#"{"result":"#) else { throw TestFailure(answer.body) }
        return String(answer.body.dropFirst(10).dropLast())
    }

    /// What `GET /faults` shows.
    var report: JSONNode {
        get throws { try Self.report(faultPort) }
    }

    func publish(_ channel: String, _ data: String = "1") throws {
        let answer = try hub.api("publish", #"{"channel":"\#(channel)","data":\#(data)}"#)
        guard answer.body.hasPrefix(#"{"result""#) else { throw TestFailure(answer.body) }
    }

    /// A client that has said `connect`, as `user` or anonymously.
    func client(
        listener: Int = 0,
        as user: String? = nil,
        format: WireFormat = .protobuf,
        receiveBuffer: CInt? = nil
    ) throws -> FaultyClient {
        try FaultyClient(port: port(listener), as: user, format: format, receiveBuffer: receiveBuffer)
    }

    private static func report(_ port: UInt16) throws -> JSONNode {
        let answer = try request(port, "GET /faults", nil, [])
        guard let result = try JSONDocument.parse(Array(answer.body.utf8)).root["result"] else {
            throw TestFailure(answer.body)
        }
        return result
    }

    static func request(_ port: UInt16, _ line: String, _ body: String?, _ headers: [String]) throws -> Answer {
        let client = try SocketClient(port: port)
        var head = "\(line) HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n"
        for header in headers { head += header + "\r\n" }
        if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
        try client.send(Array((head + "\r\n" + (body ?? "")).utf8))
        return try Answer(client.readToEnd())
    }
}

/// A client with the few commands that these tests need.
final class FaultyClient {
    let wire: WireClient
    let id: String
    private var commandID: UInt32 = 1

    init(port: UInt16, as user: String? = nil, format: WireFormat = .protobuf, receiveBuffer: CInt? = nil) throws {
        wire = try WireClient(port: port, format: format, receiveBuffer: receiveBuffer)
        var request = ConnectRequest()
        if let user { request.token = Conversation.token("{\"sub\":\"\(user)\"}") }
        try wire.send(Command(id: 1, .connect(request)))
        let reply = try wire.next()
        guard case .connect(let result) = reply.body else { throw TestFailure("not connected: \(reply)") }
        id = result.client.string
    }

    /// Sends a subscribe and gives its reply.
    func subscribe(
        _ channel: ByteString,
        since position: StreamPosition? = nil,
        isPositioned: Bool = true
    ) throws -> Reply {
        var request = SubscribeRequest()
        request.channel = channel
        (request.positioned, request.recoverable) = (isPositioned, isPositioned)
        if let position {
            (request.recover, request.offset, request.epoch) = (true, position.offset, position.epoch)
        }
        try send(.subscribe(request))
        return try wire.next()
    }

    func join(
        _ channel: ByteString,
        since position: StreamPosition? = nil,
        isPositioned: Bool = true
    ) throws -> SubscribeResult {
        let reply = try subscribe(channel, since: position, isPositioned: isPositioned)
        guard case .subscribe(let result) = reply.body else { throw TestFailure("not subscribed: \(reply)") }
        return result
    }

    @discardableResult
    func send(_ request: Request) throws -> UInt32 {
        commandID += 1
        try wire.send(Command(id: commandID, request))
        return commandID
    }

    /// The next message must be the end of a subscription; its code.
    func nextUnsubscribe() throws -> UInt32 {
        let reply = try wire.next()
        guard case .push(let push) = reply.body, case .unsubscribe(let code, let reason) = push.body else {
            throw TestFailure("no unsubscribe: \(reply)")
        }
        guard code != 2_500 || reason == "insufficient state" else { throw TestFailure("another reason: \(reason)") }
        return code
    }

    /// The offset of the next message, which must be a publication.
    func nextOffset() throws -> UInt64 {
        let reply = try wire.next()
        guard let publication = reply.pushed else { throw TestFailure("no publication: \(reply)") }
        return publication.offset
    }
}
