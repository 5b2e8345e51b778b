import BridgeTestSupport
import Foundation
import RoomsRuntime

@testable import HubCore

/// A server that has just been started: the hub, or a real Centrifugo.
final class ServerUnderTest {
    enum Kind: Sendable {
        case hub
        case real(program: String)
    }

    private enum Running {
        case hub(RunningHub)
        case real(ChildProcess)
    }

    private let kind: Kind
    private let setup: Scenario.Setup
    private var running: Running?
    private let held: HeldPort?
    private let folder: TemporaryDirectory?
    private(set) var port: UInt16 = 0

    init(_ kind: Kind, _ setup: Scenario.Setup) throws {
        self.kind = kind
        self.setup = setup
        switch kind {
        case .hub: (held, folder) = (nil, nil)
        case .real:
            (held, folder) = (try HeldPort(), try TemporaryDirectory())
            try folder?.write(RecordedServer.configuration(setup, port: held?.number ?? 0), to: "centrifugo.json")
        }
        try start()
    }

    deinit { stop(isKilled: true) }

    func start() throws {
        switch kind {
        case .hub:
            let hub = try RunningHub(rooms: RecordedServer.rooms) { RecordedServer.configure(&$0, setup) }
            port = hub.port
            running = .hub(hub)
        case .real(let program):
            guard let folder, let held else { return }
            port = held.number
            let child = try ChildProcess(program, ["-c", folder.file("centrifugo.json")], output: folder.file("log"))
            running = .real(child)
            try blockingEventually("the start of the server") {
                guard child.exit == nil else { throw TestFailure(child.output) }
                return (try? SocketClient(port: port)) != nil
            }
        }
    }

    func stop(isKilled: Bool) {
        switch running {
        case .hub(let hub): hub.server.stop()
        case .real(let child):
            child.signal(isKilled ? SIGKILL : SIGTERM)
            try? blockingEventually("the end of the server") { child.exit != nil }
        case nil: break
        }
        running = nil
    }

    /// The status, the content type and the body, a `null` where there is none.
    func request(_ call: Scenario.Call, body: [UInt8]?) throws -> (status: Int, type: String, body: [UInt8]) {
        let client = try SocketClient(port: port)
        var head = "\(call.line) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
        for header in call.headers { head += header + "\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        try client.send(Array((head + "\r\n").utf8) + (body ?? []))
        let bytes = try client.readToEnd()
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { throw TestFailure("no HTTP answer") }
        let answer = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let type = answer.firstMatch(of: #/(?i)content-type: (\S+(?: charset=\S+)?)/#).map { String($0.1) } ?? "null"
        let isChunked = answer.contains(#/(?i)transfer-encoding: chunked/#)
        let rest = Array(bytes[end.upperBound...])
        return (Int(answer.dropFirst(9).prefix(3)) ?? 0, type, isChunked ? Self.joined(rest) : rest)
    }

    private static func joined(_ chunks: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        var rest = chunks[...]
        while let line = rest.firstRange(of: Array("\r\n".utf8)) {
            let size = Int(String(decoding: rest[rest.startIndex..<line.lowerBound], as: UTF8.self), radix: 16) ?? 0
            guard size > 0, line.upperBound + size + 2 <= rest.endIndex else { break }
            body += rest[line.upperBound..<(line.upperBound + size)]
            rest = rest[(line.upperBound + size + 2)...]
        }
        return body
    }
}
