internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import RoomsWebSocket
internal import RoomsWire

/// Many plain clients of a hub on one loop: each joins its rooms and keeps account of what it hears.
final class HubClients: Sendable {
    struct Account: Sendable {
        var joined = 0
        var publications = 0
        /// Publications that were not the next of their room.
        var mistakes = 0
        var offsets: [ByteString: UInt64] = [:]
        var close: UInt16?
        var hasEnded = false
    }

    let count: Int
    private let loop = EventLoop(name: "hub-clients")
    private let accounts: Lock<[Account]>
    private let clients: LoopBound<HubClientList>

    /// The rooms must be public; with `receiveBuffer` the kernel holds no more than that for a client.
    init(
        port: UInt16,
        count: Int,
        receiveBuffer: CInt? = nil,
        _ rooms: @escaping @Sendable (_ client: Int) -> [ByteString]
    ) {
        self.count = count
        let accounts = Lock(Array(repeating: Account(), count: count))
        self.accounts = accounts
        let (loop, clients) = (loop, LoopBound(HubClientList(), on: loop))
        self.clients = clients
        loop.start()
        loop.post {
            for index in 0..<count {
                let client = HubClient(port, on: loop, receiveBuffer, rooms(index)) { change in
                    accounts.withLock { change(&$0[index]) }
                }
                clients.value.all.append(client)
            }
        }
    }

    deinit {
        close()
        loop.stop()
        loop.join()
    }

    var all: [Account] { accounts.withLock { $0 } }

    /// Waits until `isDone` holds for each.
    func wait(within limit: Duration = .seconds(30), _ what: String, _ isDone: (Account) -> Bool) async throws {
        try await eventually(within: limit, what) { all.allSatisfy(isDone) }
    }

    func pauseReading() {
        let clients = clients
        loop.post { for client in clients.value.all { client.socket?.pauseReading() } }
    }

    func resumeReading() {
        let clients = clients
        loop.post { for client in clients.value.all { client.socket?.resumeReading() } }
    }

    /// Hangs up without a word.
    func close() {
        let clients = clients
        loop.post {
            for client in clients.value.all { client.socket?.close() }
            clients.value.all = []
        }
    }
}

/// Belongs to the loop.
private final class HubClientList {
    var all: [HubClient] = []
}

/// One of them.
private final class HubClient {
    private(set) var socket: LoopSocket?
    private let stream = WebSocketSession(role: .client)
    private let rooms: [ByteString]
    private let account: ((inout HubClients.Account) -> Void) -> Void
    private var isUpgraded = false

    init(
        _ port: UInt16,
        on loop: EventLoop,
        _ receiveBuffer: CInt?,
        _ rooms: [ByteString],
        _ account: @escaping ((inout HubClients.Account) -> Void) -> Void
    ) {
        self.rooms = rooms
        self.account = account
        let address = SocketAddress.loopback(port: port)
        let descriptor = address.makeSocket()
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<CInt>.size))
        }
        guard address.connect(descriptor) else {
            account { $0.hasEnded = true }
            return
        }
        let socket = LoopSocket(descriptor, on: loop)
        self.socket = socket
        socket.onInput = { [unowned self] in readInput() }
        socket.onEnd = { account { $0.hasEnded = true } }
        socket.write(
            Array(
                """
                GET /connection/websocket HTTP/1.1\r\nHost: hub\r\nUpgrade: websocket\r\nConnection: Upgrade\r
                Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \(WebSocketHandshake.makeKey())\r
                Sec-WebSocket-Protocol: \(WireFormat.protobuf.subprotocol)\r\n\r\n
                """.utf8
            )
        )
    }

    private func readInput() {
        guard let socket else { return }
        if !isUpgraded {
            guard let end = socket.input.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
            socket.drop(end.upperBound)
            isUpgraded = true
            join()
        }
        let input = socket.input
        socket.drop(input.count)
        input.withUnsafeBytes { bytes in
            stream.receive(bytes) { event in
                switch event {
                case .binary(let frame), .text(let frame): take(frame)
                case .close(let code, _), .violation(let code, _): account { $0.close = code }
                }
            }
        }
        flush()
    }

    private func join() {
        var frame: [UInt8] = []
        ProtobufCodec.encode(Command(id: 1, .connect(ConnectRequest())), into: &frame)
        for (index, room) in rooms.enumerated() {
            var request = SubscribeRequest()
            request.channel = room
            ProtobufCodec.encode(Command(id: UInt32(index + 2), .subscribe(request)), into: &frame)
        }
        stream.sendBinary(frame)
    }

    private func take(_ frame: UnsafeRawBufferPointer) {
        var isPinged = false
        account { account in
            try? ProtobufCodec.decodeReplies(frame) { reply in
                switch reply.body {
                case .ping: isPinged = true
                case .connect, .subscribe: account.joined += 1
                case .push(let push):
                    guard case .publication(let publication) = push.body else { return }
                    account.publications += 1
                    let next = account.offsets[push.channel, default: 0] + 1
                    if publication.offset != next { account.mistakes += 1 }
                    account.offsets[push.channel] = publication.offset
                default: account.mistakes += 1
                }
            }
        }
        guard isPinged else { return }
        var pong: [UInt8] = []
        ProtobufCodec.encode(.pong, into: &pong)
        stream.sendBinary(pong)
    }

    private func flush() {
        var bytes: [UInt8] = []
        stream.takeOutput(into: &bytes)
        if !bytes.isEmpty { socket?.write(bytes) }
    }
}
