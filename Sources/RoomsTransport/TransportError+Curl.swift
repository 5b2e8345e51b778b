internal import CRoomsCurl
internal import Glibc

extension TransportError {
    /// What libcurl's result for an attempt to connect means.
    static func connecting(
        to target: StreamTarget,
        _ result: CURLcode,
        systemError: CInt,
        detail: String
    ) -> TransportError {
        let what = "cannot connect to \(target.summary)"
        if isOutOfDescriptors(systemError) {
            return TransportError(.exhausted, "\(what): \(noDescriptor(systemError))")
        }
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST:
            return TransportError(.resolve, "\(what): the name cannot be resolved")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return TransportError(.resolve, "\(what): the proxy's name cannot be resolved")
        case CURLE_COULDNT_CONNECT:
            // A Unix socket whose queue is full: libcurl finds no connection, and knows no error.
            if target.unixPath != nil, systemError == 0 {
                return TransportError(.busy, "\(what): it takes no more connections")
            }
            return refusal(what, systemError)
        case CURLE_OPERATION_TIMEDOUT:
            return TransportError(.timedOut, "\(what): no answer in time")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_USE_SSL_FAILED, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_ENGINE_INITFAILED:
            return TransportError(.tls, "\(what): \(detail.isEmpty ? text(result) : detail)")
        case CURLE_PROXY:
            return TransportError(.proxy, "\(what): the proxy does not let us through")
        case CURLE_RECV_ERROR where target.proxy != nil, CURLE_SEND_ERROR where target.proxy != nil:
            return TransportError(.proxy, "\(what): the proxy does not let us through")
        case CURLE_OUT_OF_MEMORY:
            return TransportError(.exhausted, "\(what): no memory left")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_BAD_FUNCTION_ARGUMENT:
            return TransportError(.invalidTarget, "\(what): \(text(result))")
        default:
            return TransportError(.closed, "\(what): \(text(result))")
        }
    }

    /// The system's reason for a failure, as far as there is one; `socketError` is why no socket could be made.
    static func systemError(of easy: UnsafeMutableRawPointer, _ result: CURLcode, socketError: CInt) -> CInt {
        if isOutOfDescriptors(socketError) { return socketError }
        var number = 0
        shim_getinfo_long(easy, CURLINFO_OS_ERRNO, &number)
        guard number == 0 else { return CInt(clamping: number) }
        guard socketError == 0 else { return socketError }
        switch result {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM:
            // These open files of their own, and libcurl does not tell why that failed.
            let probe = open("/dev/null", O_RDONLY | O_CLOEXEC)
            guard probe < 0 else {
                close(probe)
                return 0
            }
            return isOutOfDescriptors(errno) ? errno : 0
        default:
            return 0
        }
    }

    /// What libcurl's result for a transfer means that had, or had not, its connection.
    static func transferring(
        with target: StreamTarget,
        _ result: CURLcode,
        systemError: CInt,
        detail: String,
        isConnected: Bool
    ) -> TransportError {
        switch result {
        case CURLE_GOT_NOTHING:
            TransportError(.closed, "\(target.summary) closed the connection without an answer")
        case CURLE_PARTIAL_FILE:
            TransportError(.closed, "\(target.summary) closed the connection in the middle of its answer")
        case CURLE_RECV_ERROR where isConnected, CURLE_SEND_ERROR where isConnected:
            TransportError(.closed, "the connection to \(target.summary) broke before the end of the answer")
        case CURLE_UNSUPPORTED_PROTOCOL where isConnected:
            TransportError(.protocolViolation, "\(target.summary) does not answer as HTTP says")
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_WRITE_ERROR:
            TransportError(.protocolViolation, "\(target.summary) does not answer as HTTP says")
        default:
            connecting(to: target, result, systemError: systemError, detail: detail)
        }
    }

    /// What an error of a system call on an open connection means.
    static func using(_ systemError: CInt) -> TransportError {
        switch systemError {
        case ECONNRESET, EPIPE:
            TransportError(.closed, "the peer closed the connection")
        case ETIMEDOUT:
            TransportError(.timedOut, "the peer does not answer any more")
        case ENOTCONN:
            // Connecting to a Unix socket whose queue is full looks like success to libcurl.
            TransportError(.busy, "the socket takes no more connections")
        case ENOMEM, ENOBUFS:
            TransportError(.exhausted, "no memory left for the connection")
        case EMFILE, ENFILE:
            TransportError(.exhausted, noDescriptor(systemError))
        default:
            TransportError(.closed, "the connection broke: \(name(systemError))")
        }
    }

    private static func refusal(_ what: String, _ systemError: CInt) -> TransportError {
        switch systemError {
        case ECONNREFUSED:
            TransportError(.refused, "\(what): nothing listens there")
        case ENOENT, ENOTDIR:
            TransportError(.noSuchSocket, "\(what): there is no such file")
        case EACCES, EPERM:
            TransportError(.notPermitted, "\(what): permission denied")
        case ETIMEDOUT:
            TransportError(.timedOut, "\(what): no answer in time")
        case ENOMEM, ENOBUFS, EADDRNOTAVAIL:
            TransportError(.exhausted, "\(what): \(name(systemError))")
        case ECONNRESET:
            TransportError(.closed, "\(what): the peer closed the connection")
        default:
            TransportError(.unreachable, "\(what): \(systemError == 0 ? "no way there" : name(systemError))")
        }
    }

    static func isOutOfDescriptors(_ systemError: CInt) -> Bool { systemError == EMFILE || systemError == ENFILE }

    private static func noDescriptor(_ systemError: CInt) -> String {
        "no descriptor is left for it (\(name(systemError))): raise "
            + (systemError == EMFILE ? "the limit of open files (LimitNOFILE=, ulimit -n)" : "fs.file-max")
    }

    private static func name(_ systemError: CInt) -> String {
        var text = [CChar](repeating: 0, count: 128)
        guard strerror_r(systemError, &text, text.count) == 0 else { return "error \(systemError)" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func text(_ result: CURLcode) -> String {
        curl_easy_strerror(result).map { String(cString: $0) } ?? "error \(result.rawValue)"
    }
}
