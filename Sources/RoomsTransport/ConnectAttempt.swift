internal import CRoomsCurl
internal import Glibc
internal import RoomsRuntime

/// One connection on its way: a connect-only handle of libcurl in the loop's multi.
final class ConnectAttempt: CurlWork {
    private unowned let multi: CurlMulti
    private let target: StreamTarget
    private let easy: UnsafeMutableRawPointer
    private let detail: UnsafeMutableBufferPointer<CChar>
    private var timer: TimerID?
    private var done: ((Result<Stream, TransportError>) -> Void)?
    /// An address that `isLoopbackOnly` forbids was resolved.
    fileprivate var hasRefusedAddress = false
    /// Why a socket could not even be made; libcurl does not tell.
    fileprivate var socketError: CInt = 0
    fileprivate var isLoopbackOnly: Bool { target.isLoopbackOnly && target.proxy == nil }

    init(
        _ multi: CurlMulti,
        _ target: StreamTarget,
        timeout: Duration,
        _ done: @escaping (Result<Stream, TransportError>) -> Void
    ) {
        guard let easy = curl_easy_init() else { preconditionFailure("no memory for libcurl") }
        self.multi = multi
        self.target = target
        self.easy = easy
        self.done = done
        detail = .allocate(capacity: Int(CURL_ERROR_SIZE))
        detail.initialize(repeating: 0)
        setUp(timeout)
        timer = multi.loop.schedule(after: timeout) { [weak self] in self?.expire() }
        multi.add(easy, self)
    }

    deinit { detail.deallocate() }

    func cancel() {
        guard done != nil else { return }
        done = nil
        discard()
    }

    /// The multi is going, and frees the handle itself.
    func abandon() {
        done = nil
    }

    /// libcurl is done with connecting.
    func finished(_ result: CURLcode) {
        guard let done else { return }
        self.done = nil
        if let timer { multi.loop.cancel(timer) }
        guard result == CURLE_OK else {
            let systemError = TransportError.systemError(of: easy, result, socketError: socketError)
            let error =
                hasRefusedAddress
                ? TransportError(
                    .notPermitted,
                    "\(target.summary) is not on this machine, and only TLS connections may leave it"
                )
                : TransportError.connecting(to: target, result, systemError: systemError, detail: detailText)
            discard()
            return done(.failure(error))
        }
        done(stream())
    }

    private func expire() {
        guard let done else { return }
        self.done = nil
        discard()
        done(.failure(TransportError(.timedOut, "cannot connect to \(target.summary): no answer in time")))
    }

    private func discard() {
        if let timer { multi.loop.cancel(timer) }
        multi.remove(easy)
    }

    /// The open connection: with TLS it stays inside libcurl, without it is a descriptor of our own.
    private func stream() -> Result<Stream, TransportError> {
        var descriptor: curl_socket_t = -1
        shim_setopt_pointer(easy, CURLOPT_ERRORBUFFER, nil)
        guard shim_getinfo_socket(easy, &descriptor) == CURLE_OK, descriptor >= 0 else {
            discard()
            return .failure(TransportError(.closed, "\(target.summary) closed the connection at once"))
        }
        if isEncrypted { return .success(Stream(multi, descriptor, easy: easy)) }
        let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        let systemError = errno
        discard()
        guard own >= 0 else { return .failure(TransportError.using(systemError)) }
        return .success(Stream(multi, own, easy: nil))
    }

    /// Whether libcurl has to encrypt, for the server or for a proxy.
    private var isEncrypted: Bool {
        if case .tls = target.security { return true }
        return target.proxy?.lowercased().hasPrefix("https") ?? false
    }

    private var detailText: String {
        String(decoding: detail.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: options

    private func setUp(_ timeout: Duration) {
        shim_setopt_pointer(easy, CURLOPT_ERRORBUFFER, detail.baseAddress)
        shim_setopt_long(easy, CURLOPT_CONNECT_ONLY, 1)
        shim_setopt_long(easy, CURLOPT_NOSIGNAL, 1)
        // A front that takes up an offer of HTTP/2 makes libcurl 7.88 crash in the first send.
        shim_setopt_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        shim_setopt_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // The deadline is the attempt's own timer; libcurl divides this one among the addresses that it tries.
        shim_setopt_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(min(max(1, timeout.wholeMilliseconds), 86_400_000)))
        // Removing a handle does not wait for a resolver that hangs.
        shim_setopt_long(easy, CURLOPT_QUICK_EXIT, 1)
        // A new connection of the same multi must not end an older one for its age.
        shim_setopt_long(easy, CURLOPT_MAXAGE_CONN, 1_000_000_000)
        shim_setopt_long(easy, CURLOPT_FRESH_CONNECT, 1)
        shim_setopt_long(easy, CURLOPT_TCP_KEEPALIVE, 1)
        shim_setopt_long(easy, CURLOPT_TCP_KEEPIDLE, 30)
        shim_setopt_long(easy, CURLOPT_TCP_KEEPINTVL, 10)
        shim_setopt_string(easy, CURLOPT_PROXY, target.proxy ?? "")
        shim_setopt_long(easy, CURLOPT_HTTPPROXYTUNNEL, target.proxy == nil ? 0 : 1)
        // Safety: the multi keeps the attempt until the handle is finished or removed, and outlives all handles.
        shim_setopt_pointer(easy, CURLOPT_OPENSOCKETDATA, Unmanaged.passUnretained(self).toOpaque())
        shim_setopt_opensocket(easy, opensSocket)
        // Safety: as above.
        shim_setopt_pointer(easy, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(multi).toOpaque())
        shim_setopt_closesocket(easy, curlClosesSocket)
        setUpTarget()
    }

    private func setUpTarget() {
        if let path = target.unixPath { shim_setopt_string(easy, CURLOPT_UNIX_SOCKET_PATH, path.string) }
        let host = target.host.bytes.contains(UInt8(ascii: ":")) ? "[\(target.host.string)]" : target.host.string
        guard case .tls(let settings) = target.security else {
            shim_setopt_string(easy, CURLOPT_URL, "http://\(host):\(target.port)/")
            return
        }
        shim_setopt_string(easy, CURLOPT_URL, "https://\(host):\(target.port)/")
        settings.apply(to: easy)
    }
}

/// Opens the sockets of an attempt: never inherited by children, and not to foreign addresses when that is forbidden.
private func opensSocket(
    _ user: UnsafeMutableRawPointer?,
    _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let user, let address else { return CURL_SOCKET_BAD }
    // Safety: libcurl opens sockets while it connects, and so long the multi keeps the attempt.
    let attempt = Unmanaged<ConnectAttempt>.fromOpaque(user).takeUnretainedValue()
    if attempt.isLoopbackOnly, !isLocal(&address.pointee.addr) {
        attempt.hasRefusedAddress = true
        return CURL_SOCKET_BAD
    }
    let descriptor = socket(
        address.pointee.family,
        address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue),
        address.pointee.protocol
    )
    attempt.socketError = descriptor < 0 ? errno : 0
    return descriptor
}

/// Whether an address is on this machine: a Unix socket, 127.0.0.0/8 or ::1 (also written as IPv6).
private func isLocal(_ address: UnsafeMutablePointer<sockaddr>) -> Bool {
    switch CInt(address.pointee.sa_family) {
    case AF_UNIX:
        return true
    case AF_INET:
        return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
            UInt32(bigEndian: $0.pointee.sin_addr.s_addr) >> 24 == 127
        }
    case AF_INET6:
        let bytes = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
            withUnsafeBytes(of: pointer.pointee.sin6_addr) { [UInt8]($0) }
        }
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]
        return bytes == [UInt8](repeating: 0, count: 15) + [1] || bytes.prefix(12) == mapped[...] && bytes[12] == 127
    default:
        return false
    }
}
