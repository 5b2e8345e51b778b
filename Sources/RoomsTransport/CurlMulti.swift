internal import CRoomsCurl
internal import Glibc
internal import RoomsRuntime

/// What a handle in a multi belongs to.
protocol CurlWork: AnyObject {
    /// libcurl is done with the handle, which is still in the multi.
    func finished(_ result: CURLcode)

    /// The owner wants no more of it.
    func cancel()

    /// The multi is going, and frees the handle itself.
    func abandon()
}

/// libcurl's multi handle, driven by an event loop: it makes connections and holds those with TLS, or it carries ordinary
/// transfers.
///
/// Belongs to the loop's thread. A connection that is made leaves the sockets that libcurl watches; one without TLS
/// leaves libcurl altogether, one with TLS must stay, since taking its handle out of the multi closes it. Transfers have
/// a multi of their own: each of them looks through its multi's connections for one to use, and ends those that are old
/// or have something to read.
final class CurlMulti {
    let loop: EventLoop
    private let multi: UnsafeMutableRawPointer
    private var timer: TimerID?
    private var watched: Set<CInt> = []
    private var works: [UnsafeMutableRawPointer: any CurlWork] = [:]
    private var holders: [CInt: () -> Void] = [:]

    private static let isReady: Bool = shim_global_init() == CURLE_OK

    /// `keptConnections` is how many connections that nobody uses may stay open.
    ///
    /// Where they are ours it must not be reached: libcurl closes those that it thinks idle.
    init(loop: EventLoop, keptConnections: Int) {
        precondition(Self.isReady, "libcurl cannot be initialised")
        guard let multi = curl_multi_init() else { preconditionFailure("no memory for libcurl") }
        self.loop = loop
        self.multi = multi
        // Safety: both callbacks are taken back in `deinit`, before the pointer dangles.
        let user = Unmanaged.passUnretained(self).toOpaque()
        shim_multi_setopt_socket(multi, socketChanged)
        shim_multi_setopt_pointer(multi, CURLMOPT_SOCKETDATA, user)
        shim_multi_setopt_timer(multi, timerChanged)
        shim_multi_setopt_pointer(multi, CURLMOPT_TIMERDATA, user)
        shim_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, keptConnections)
    }

    deinit {
        shim_multi_setopt_socket(multi, nil)
        shim_multi_setopt_timer(multi, nil)
        // The loop has ended, and with it all watches.
        if !loop.isOnLoop { watched = [] }
        for (easy, work) in works {
            work.abandon()
            curl_multi_remove_handle(multi, easy)
            curl_easy_cleanup(easy)
        }
        curl_multi_cleanup(multi)
    }

    /// Starts what `work` has set up in `easy`.
    func add(_ easy: UnsafeMutableRawPointer, _ work: any CurlWork) {
        works[easy] = work
        curl_multi_add_handle(multi, easy)
    }

    /// Frees the handle and closes its connection.
    func remove(_ easy: UnsafeMutableRawPointer) {
        works[easy] = nil
        curl_multi_remove_handle(multi, easy)
        curl_easy_cleanup(easy)
    }

    /// `lost` runs when libcurl closes the descriptor by itself.
    func hold(_ descriptor: CInt, lost: @escaping () -> Void) {
        holders[descriptor] = lost
    }

    func release(_ descriptor: CInt) {
        holders[descriptor] = nil
    }

    // MARK: what libcurl asks for

    fileprivate func socket(_ descriptor: CInt, needs action: CInt) {
        guard action != CURL_POLL_REMOVE else {
            if watched.remove(descriptor) != nil { loop.unwatch(descriptor) }
            return
        }
        var interest: Readiness = []
        if action & CURL_POLL_IN != 0 { interest.insert(.readable) }
        if action & CURL_POLL_OUT != 0 { interest.insert(.writable) }
        if watched.insert(descriptor).inserted {
            loop.watch(descriptor, for: interest) { [unowned self] in ready(descriptor, $0) }
        } else {
            loop.rewatch(descriptor, for: interest)
        }
    }

    fileprivate func timer(in milliseconds: Int) {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard milliseconds >= 0 else { return }
        timer = loop.schedule(after: .milliseconds(milliseconds)) { [weak self] in
            guard let self else { return }
            timer = nil
            act(CURL_SOCKET_TIMEOUT, 0)
        }
    }

    fileprivate func closing(_ descriptor: CInt) {
        if watched.remove(descriptor) != nil { loop.unwatch(descriptor) }
        holders.removeValue(forKey: descriptor)?()
    }

    private func ready(_ descriptor: CInt, _ readiness: Readiness) {
        var mask: CInt = 0
        if readiness.contains(.readable) { mask |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { mask |= CURL_CSELECT_OUT }
        if readiness.contains(.failed) { mask |= CURL_CSELECT_ERR }
        act(descriptor, mask)
    }

    private func act(_ descriptor: CInt, _ mask: CInt) {
        var running: CInt = 0
        curl_multi_socket_action(multi, descriptor, mask, &running)
        var left: CInt = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let result = shim_message_result(message)
            works.removeValue(forKey: easy)?.finished(result)
        }
    }
}

// MARK: callbacks

private func owner(_ user: UnsafeMutableRawPointer?) -> CurlMulti? {
    // Safety: libcurl calls back only inside calls that the living object makes, or while handles are in its multi.
    user.map { Unmanaged<CurlMulti>.fromOpaque($0).takeUnretainedValue() }
}

private func socketChanged(
    _ easy: UnsafeMutableRawPointer?,
    _ descriptor: curl_socket_t,
    _ action: CInt,
    _ user: UnsafeMutableRawPointer?,
    _ socketUser: UnsafeMutableRawPointer?
) -> CInt {
    owner(user)?.socket(descriptor, needs: action)
    return 0
}

private func timerChanged(
    _ multi: UnsafeMutableRawPointer?,
    _ milliseconds: Int,
    _ user: UnsafeMutableRawPointer?
) -> CInt {
    owner(user)?.timer(in: milliseconds)
    return 0
}

/// Given to every handle: libcurl closes a descriptor through it.
func curlClosesSocket(_ user: UnsafeMutableRawPointer?, _ descriptor: curl_socket_t) -> CInt {
    owner(user)?.closing(descriptor)
    return close(descriptor)
}
