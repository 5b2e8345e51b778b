internal import CRoomsCurl
internal import Glibc
internal import RoomsRuntime

/// One ordinary HTTP request on its way: a handle of libcurl in the multi for transfers.
///
/// On its loop's thread. Redirects are not followed, the environment's proxies, `.netrc` and cookies not used, and the
/// server's certificate is always checked.
final class Transfer: CurlWork {
    private unowned let multi: CurlMulti
    private let target: StreamTarget
    private let easy: UnsafeMutableRawPointer
    private let detail: UnsafeMutableBufferPointer<CChar>
    private var lines: UnsafeMutablePointer<curl_slist>?
    private var timer: TimerID?
    private var done: ((Result<TransferAnswer, TransportError>) -> Void)?
    /// Why a socket could not even be made; libcurl does not tell.
    fileprivate var socketError: CInt = 0
    fileprivate var reader: AnswerReader

    init(
        _ multi: CurlMulti,
        _ request: TransferRequest,
        _ done: @escaping (Result<TransferAnswer, TransportError>) -> Void
    ) throws(TransportError) {
        let headers = try request.headerLines()
        target = request.url.streamTarget(tls: request.tls, proxy: request.proxy)
        try target.check()
        guard let easy = curl_easy_init() else { preconditionFailure("no memory for libcurl") }
        self.multi = multi
        self.easy = easy
        self.done = done
        reader = AnswerReader(bodyLimit: max(0, request.maxBody))
        detail = .allocate(capacity: Int(CURL_ERROR_SIZE))
        detail.initialize(repeating: 0)
        setUp(request, headers)
        timer = multi.loop.schedule(after: request.timeout) { [weak self] in self?.expire() }
        multi.add(easy, self)
    }

    deinit {
        curl_slist_free_all(lines)
        detail.deallocate()
    }

    func cancel() {
        guard done != nil else { return }
        done = nil
        discard()
    }

    func abandon() {
        done = nil
    }

    func finished(_ result: CURLcode) {
        guard done != nil else { return }
        if result == CURLE_FILESIZE_EXCEEDED { reader.refuseBody() }
        if let flaw = reader.flaw {
            return end(.failure(TransportError(flaw.code, "\(target.summary): \(flaw.message)")))
        }
        var status = 0
        shim_getinfo_long(easy, CURLINFO_RESPONSE_CODE, &status)
        guard result == CURLE_OK else {
            let error = TransportError.transferring(
                with: target,
                result,
                systemError: TransportError.systemError(of: easy, result, socketError: socketError),
                detail: detailText,
                isConnected: isConnected
            )
            return end(.failure(error))
        }
        // libcurl takes the end of the connection for the end of the head.
        guard status >= 200, !reader.isInHead else {
            let message = "\(target.summary) closed the connection in the middle of its answer"
            return end(.failure(TransportError(.closed, message)))
        }
        end(.success(reader.answer(status: status, wall: SystemClock.wallMilliseconds)))
    }

    /// Whether the server was reached, TLS included.
    private var isConnected: Bool {
        var sent = 0
        shim_getinfo_long(easy, CURLINFO_REQUEST_SIZE, &sent)
        return sent > 0
    }

    private func expire() {
        let message =
            isConnected
            ? "\(target.summary) did not answer to the end in time"
            : "cannot connect to \(target.summary): no answer in time"
        end(.failure(TransportError(.timedOut, message)))
    }

    private func end(_ result: Result<TransferAnswer, TransportError>) {
        guard let done else { return }
        self.done = nil
        // Before the answer is handed on: a request that follows from it finds the connection free.
        discard()
        done(result)
    }

    private func discard() {
        if let timer { multi.loop.cancel(timer) }
        multi.remove(easy)
    }

    private var detailText: String {
        String(decoding: detail.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: options

    private func setUp(_ request: TransferRequest, _ headers: [[UInt8]]) {
        for line in headers {
            let text = line.map { CChar(bitPattern: $0) } + [0]
            guard let longer = curl_slist_append(lines, text) else { preconditionFailure("no memory for libcurl") }
            lines = longer
        }
        shim_setopt_list(easy, CURLOPT_HTTPHEADER, lines)
        shim_setopt_pointer(easy, CURLOPT_ERRORBUFFER, detail.baseAddress)
        shim_setopt_string(easy, CURLOPT_URL, request.url.text.string)
        shim_setopt_long(easy, CURLOPT_PATH_AS_IS, 1)
        shim_setopt_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        shim_setopt_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        shim_setopt_long(easy, CURLOPT_NOSIGNAL, 1)
        // Removing a handle does not wait for a resolver that hangs.
        shim_setopt_long(easy, CURLOPT_QUICK_EXIT, 1)
        let limit = min(request.connectTimeout, request.timeout).wholeMilliseconds
        shim_setopt_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(min(max(1, limit), 86_400_000)))
        shim_setopt_long(easy, CURLOPT_MAXFILESIZE, max(1, request.maxBody))
        if request.method == .post {
            shim_setopt_long(easy, CURLOPT_POST, 1)
            shim_setopt_long(easy, CURLOPT_POSTFIELDSIZE, request.body.count)
            // libcurl copies as many bytes as were said before, also of a body with a NUL in it.
            (request.body + [0]).withUnsafeBufferPointer { body in
                _ = shim_setopt_pointer(
                    easy,
                    CURLOPT_COPYPOSTFIELDS,
                    UnsafeMutableRawPointer(mutating: body.baseAddress)
                )
            }
        }
        setUpWay(request)
        // Safety: the multi keeps the transfer until its handle is finished or removed.
        let user = Unmanaged.passUnretained(self).toOpaque()
        shim_setopt_pointer(easy, CURLOPT_WRITEDATA, user)
        shim_setopt_write(easy, takesBody)
        shim_setopt_pointer(easy, CURLOPT_HEADERDATA, user)
        shim_setopt_header(easy, takesLine)
        shim_setopt_pointer(easy, CURLOPT_OPENSOCKETDATA, user)
        shim_setopt_opensocket(easy, opensSocket)
        // Safety: the multi outlives all its handles and connections.
        shim_setopt_pointer(easy, CURLOPT_CLOSESOCKETDATA, Unmanaged.passUnretained(multi).toOpaque())
        shim_setopt_closesocket(easy, curlClosesSocket)
    }

    private func setUpWay(_ request: TransferRequest) {
        // Empty, not absent: libcurl looks into the environment for what is absent.
        shim_setopt_string(easy, CURLOPT_PROXY, request.proxy ?? "")
        shim_setopt_string(easy, CURLOPT_NOPROXY, "")
        shim_setopt_long(easy, CURLOPT_HTTPPROXYTUNNEL, request.proxy == nil ? 0 : 1)
        shim_setopt_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        request.tls.apply(to: easy)
    }
}

// MARK: callbacks

private func transfer(_ user: UnsafeMutableRawPointer?) -> Transfer? {
    // Safety: libcurl calls back for a handle that is in its multi, and so long the multi keeps the transfer.
    user.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

/// Anything but the number of bytes that came makes libcurl give up.
private func takesBody(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer = transfer(user) else { return 0 }
    return transfer.reader.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}

private func takesLine(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let transfer = transfer(user) else { return 0 }
    return transfer.reader.takeLine(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
}

/// Never inherited by children.
private func opensSocket(
    _ user: UnsafeMutableRawPointer?,
    _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let transfer = transfer(user), let address else { return CURL_SOCKET_BAD }
    let descriptor = socket(
        address.pointee.family,
        address.pointee.socktype | CInt(SOCK_CLOEXEC.rawValue),
        address.pointee.protocol
    )
    transfer.socketError = descriptor < 0 ? errno : 0
    return descriptor
}
