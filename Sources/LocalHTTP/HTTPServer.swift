internal import CMicrohttpd
internal import Glibc
package import RoomsRuntime

package struct HTTPServerSettings: Sendable {
    package var bodyLimit = 64 << 20
    package var connectionLimit: UInt32 = 20_000
    /// Seconds after which a connection that says nothing is closed; upgraded ones are not.
    package var idleTimeout: UInt32 = 30

    package init() {}
}

/// An HTTP server on an event loop: libmicrohttpd without a thread of its own, whose epoll descriptor the loop watches.
///
/// Handlers run on the loop, one request at a time, and must not block.
package final class HTTPServer {
    let settings: HTTPServerSettings
    let handler: (HTTPRequest) -> HTTPResponse
    private let loop: EventLoop
    private var daemon: OpaquePointer?
    private var poller: CInt = -1
    private var isDriving = false
    private var timer: (id: TimerID, deadline: Instant)?
    private var isDriveDue = false
    private var suspended: [ObjectIdentifier: (exchange: Exchange, connection: OpaquePointer)] = [:]
    private var upgraded: [ObjectIdentifier: UpgradedSocket] = [:]

    package init(
        loop: EventLoop,
        settings: HTTPServerSettings = HTTPServerSettings(),
        handler: @escaping (HTTPRequest) -> HTTPResponse
    ) {
        self.loop = loop
        self.settings = settings
        self.handler = handler
    }

    deinit {
        precondition(daemon == nil, "a server must be stopped before it is let go")
    }

    /// Takes connections from now on, and the listening socket over.
    package func start(_ listener: Listener) throws(ListenError) {
        try start(listener.descriptor, listener.description)
    }

    /// The same on a Unix socket.
    package func start(_ listener: UnixListener) throws(ListenError) {
        try start(listener.descriptor, listener.description)
    }

    private func start(_ listener: CInt, _ name: String) throws(ListenError) {
        loop.preconditionOnLoop()
        // Safety: the daemon calls back only inside MHD_run and MHD_stop_daemon, both called by this object.
        let context = Unmanaged.passUnretained(self).toOpaque()
        guard
            let daemon = shim_mhd_start(
                listener,
                settings.connectionLimit,
                32 * 1024,
                settings.idleTimeout,
                accessCallback,
                completedCallback,
                context
            )
        else {
            close(listener)
            throw ListenError(message: "\(name): the HTTP library does not start")
        }
        self.daemon = daemon
        poller = shim_mhd_poller(daemon)
        loop.watch(poller, for: .readable) { [unowned self] _ in drive() }
    }

    /// Takes no more connections, so that newcomers are refused, and goes on with those it has.
    package func stopListening() {
        loop.preconditionOnLoop()
        guard let daemon else { return }
        let descriptor = MHD_quiesce_daemon(daemon)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Closes every connection, also the upgraded ones, and the listening socket.
    package func stop() {
        loop.preconditionOnLoop()
        guard let daemon else { return }
        for socket in Array(upgraded.values) { socket.close() }
        for (exchange, connection) in Array(suspended.values) {
            exchange.late(connection, .text("the server stops\n", status: 503))
        }
        for _ in 1...2 { MHD_run(daemon) }
        loop.unwatch(poller)
        if let timer { loop.cancel(timer.id) }
        timer = nil
        self.daemon = nil
        MHD_stop_daemon(daemon)
    }

    package var isStopped: Bool { daemon == nil }

    /// Takes newcomers again where descriptors had run out: the library forgets its listening socket then, and looks at it
    /// again only when it runs.
    package func wake() {
        loop.preconditionOnLoop()
        drive(least: 2)
    }

    /// Connections that hold a descriptor, upgraded ones too.
    package var connectionCount: Int {
        loop.preconditionOnLoop()
        return daemon.map { Int(shim_mhd_connections($0)) } ?? 0
    }

    /// Lets the library work until it has nothing left to do now, and comes back when its next time-out is due.
    ///
    /// The first run may find what only the next one acts on.
    private func drive(least: Int = 1) {
        guard !isDriving, let daemon else { return }
        isDriving = true
        defer { isDriving = false }
        var wait: UInt64 = 0
        var hasTimeout = false
        for run in 1...16 {
            guard self.daemon == daemon else { return }
            MHD_run(daemon)
            hasTimeout = MHD_get_timeout(daemon, &wait) == .YES
            if run >= least, !hasTimeout || wait > 0 { break }
        }
        guard hasTimeout else { return }
        let deadline = SystemClock.now + .milliseconds(Int64(clamping: wait))
        if let timer {
            // One that comes too early only asks again.
            guard deadline < timer.deadline else { return }
            loop.cancel(timer.id)
        }
        let id = loop.schedule(at: deadline) { [unowned self] in
            timer = nil
            drive()
        }
        timer = (id, deadline)
    }

    // MARK: answers that come later

    func suspend(_ exchange: Exchange, _ connection: OpaquePointer) {
        suspended[ObjectIdentifier(exchange)] = (exchange, connection)
        MHD_suspend_connection(connection)
    }

    /// False when it goes on already.
    func resume(_ exchange: Exchange, _ connection: OpaquePointer) -> Bool {
        loop.preconditionOnLoop()
        guard suspended.removeValue(forKey: ObjectIdentifier(exchange)) != nil else { return false }
        MHD_resume_connection(connection)
        driveSoon()
        return true
    }

    // MARK: called back

    func upgraded(_ exchange: Exchange, _ descriptor: CInt, _ firstBytes: [UInt8], _ handle: OpaquePointer) {
        let socket = UpgradedSocket(descriptor: descriptor, firstBytes: firstBytes, handle: handle) { [self] in
            upgradedClosed($0)
        }
        upgraded[ObjectIdentifier(socket)] = socket
        exchange.upgraded(socket)
    }

    /// The library gives the descriptor back only when it runs again, and nothing else makes it run.
    private func upgradedClosed(_ socket: UpgradedSocket) {
        upgraded[ObjectIdentifier(socket)] = nil
        driveSoon()
    }

    private func driveSoon() {
        guard !isDriveDue else { return }
        isDriveDue = true
        loop.schedule(at: loop.now) { [weak self] in
            self?.isDriveDue = false
            self?.drive(least: 2)
        }
    }
}

private func accessCallback(
    context: UnsafeMutableRawPointer?,
    connection: OpaquePointer?,
    path: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?,
    version: UnsafePointer<CChar>?,
    upload: UnsafePointer<CChar>?,
    uploadCount: UnsafeMutablePointer<Int>?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
    guard let context, let connection, let path, let method, let uploadCount, let state else { return .NO }
    guard let known = state.pointee else {
        // Safety: the server outlives its daemon, which makes this call.
        let server = Unmanaged<HTTPServer>.fromOpaque(context).takeUnretainedValue()
        let exchange = Exchange(server: server, method: method, path: path)
        // Safety: released by `completedCallback`, which comes once for each request that got here.
        state.pointee = Unmanaged.passRetained(exchange).toOpaque()
        return exchange.begin(connection) ? .YES : .NO
    }
    // Safety: as above.
    let exchange = Unmanaged<Exchange>.fromOpaque(known).takeUnretainedValue()
    if uploadCount.pointee > 0 {
        let isTaken = exchange.append(UnsafeRawBufferPointer(start: upload, count: uploadCount.pointee))
        uploadCount.pointee = 0
        return isTaken ? .YES : .NO
    }
    return exchange.finish(connection) ? .YES : .NO
}

private func completedCallback(
    context: UnsafeMutableRawPointer?,
    connection: OpaquePointer?,
    state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    reason: MHD_RequestTerminationCode
) {
    guard let state, let known = state.pointee else { return }
    state.pointee = nil
    // Safety: takes over the reference that `accessCallback` made.
    Unmanaged<Exchange>.fromOpaque(known).release()
}

func upgradeCallback(
    context: UnsafeMutableRawPointer?,
    connection: OpaquePointer?,
    state: UnsafeMutableRawPointer?,
    extra: UnsafePointer<CChar>?,
    extraCount: Int,
    socket: MHD_socket,
    handle: OpaquePointer?
) {
    guard let state, let handle else { return }
    // Safety: the exchange is retained until `completedCallback`, which comes after this.
    let exchange = Unmanaged<Exchange>.fromOpaque(state).takeUnretainedValue()
    let firstBytes = [UInt8](UnsafeRawBufferPointer(start: extra, count: extra == nil ? 0 : extraCount))
    exchange.server.upgraded(exchange, socket, firstBytes, handle)
}
