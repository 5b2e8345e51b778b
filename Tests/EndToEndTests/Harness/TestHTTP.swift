internal import BridgeTestSupport
internal import Glibc
internal import RoomsRuntime

/// Single requests of the tests themselves.
enum TestHTTP {
    private static let loop: EventLoop = {
        let loop = EventLoop(name: "test-http")
        loop.start()
        return loop
    }()

    private enum Outcome: Sendable {
        case answered([UInt8])
        case ended
    }

    /// Sends `bytes` and gathers the answer until `length` knows how long it is; nil when the peer hangs up before.
    ///
    /// `more` is sent when the head of the answer has come, as after an upgrade.
    static func exchange(
        _ address: SocketAddress,
        _ bytes: [UInt8],
        afterHead more: [UInt8] = [],
        _ length: @escaping @Sendable ([UInt8]) -> Int?
    ) async throws -> [UInt8]? {
        let outcome = Lock<Outcome?>(nil)
        loop.post {
            let descriptor = address.makeSocket()
            guard address.connect(descriptor) else {
                close(descriptor)
                return outcome.withLock { $0 = .ended }
            }
            let socket = LoopSocket(descriptor, on: loop)
            var more = more
            socket.onInput = { [unowned socket] in
                if !more.isEmpty, HTTPMessage.headLength(socket.input) != nil {
                    socket.write(more)
                    more = []
                }
                guard let end = length(socket.input) else { return }
                outcome.withLock { $0 = .answered([UInt8](socket.input[..<end])) }
                socket.close()
            }
            socket.onEnd = { outcome.withLock { $0 = .ended } }
            socket.write(bytes)
        }
        switch try await eventually(within: .seconds(20), "an answer", { outcome.withLock { $0 } }) {
        case .answered(let answer): return answer
        case .ended: return nil
        }
    }

    static func post(
        _ address: SocketAddress,
        _ path: String,
        _ body: String,
        headers: [String] = []
    ) async throws -> HTTPMessage? {
        let request = request(path, [UInt8](body.utf8), headers: headers + ["connection: close"])
        let answer = try await exchange(address, request) { HTTPMessage.read($0)?.1 }
        return answer.flatMap { HTTPMessage.read($0)?.0 }
    }

    static func request(_ path: String, _ body: [UInt8], headers: [String] = []) -> [UInt8] {
        let type = headers.contains { $0.hasPrefix("content-type:") } ? [] : ["content-type: application/json"]
        let head =
            ["POST \(path) HTTP/1.1", "host: localhost"] + type + headers + ["content-length: \(body.count)"]
        return Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
    }

    /// Until the server answers HTTP at all, whatever it answers.
    static func waitForAnswer(port: UInt16, _ child: ChildProcess?) async throws {
        try await eventually("an answer on port \(port)") {
            if let exit = child?.exit {
                throw ChildProcess.Failure("it ended with \(exit):\n\(child?.output ?? "")")
            }
            return try await post(.loopback(port: port), "/api/info", "{}") != nil
        }
    }
}
