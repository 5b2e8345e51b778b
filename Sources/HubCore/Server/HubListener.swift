internal import LocalHTTP
internal import RoomsRuntime

/// One address that a hub listens on: it can be shut and opened again, and its connections cut, alone.
///
/// Belongs to the hub's loop.
final class HubListener {
    /// With the port that it got.
    let address: ListenAddress
    private let loop: EventLoop
    private let handler: (HTTPRequest, HubListener) -> HTTPResponse
    private var server: HTTPServer?
    /// Those that take nobody any more and go on with whom they have.
    private var leaving: [HTTPServer] = []
    /// Held while newcomers are refused.
    private var reservation: PortReservation?

    init(
        _ listener: Listener,
        loop: EventLoop,
        handler: @escaping (HTTPRequest, HubListener) -> HTTPResponse
    ) throws(ListenError) {
        address = listener.address.at(port: listener.port)
        self.loop = loop
        self.handler = handler
        try serve(listener)
    }

    var isRefusing: Bool { server == nil }

    private func serve(_ listener: Listener) throws(ListenError) {
        let server = HTTPServer(loop: loop) { [unowned self] request in handler(request, self) }
        try server.start(listener)
        self.server = server
    }

    /// From now on connections to the address are refused; those that are there stay.
    func refuse() throws(ListenError) {
        guard let server else { return }
        server.stopListening()
        leaving.append(server)
        self.server = nil
        reservation = try PortReservation(address)
    }

    func admit() throws(ListenError) {
        guard server == nil else { return }
        if reservation == nil { reservation = try PortReservation(address) }
        guard let listener = try reservation?.listen() else { return }
        reservation = nil
        try serve(listener)
    }

    /// Ends the servers that nobody is connected to any more.
    ///
    /// Called every now and then.
    func sweep() {
        server?.wake()
        for server in leaving where server.connectionCount == 0 { server.stop() }
        leaving.removeAll { $0.isStopped }
    }

    /// Of an address that refuses, ends also what is no WebSocket; its WebSockets must have been cut.
    func endLeaving() {
        for server in leaving { server.stop() }
        leaving = []
    }

    func stop() {
        endLeaving()
        server?.stop()
        server = nil
        reservation?.close()
        reservation = nil
    }
}
