internal import CMicrohttpd
internal import Glibc

/// A connection that left HTTP behind: the socket to read and write, non-blocking.
///
/// Belongs to the server's loop. The descriptor is lent: take the watch off, then call `close`.
package final class UpgradedSocket {
    package let descriptor: CInt
    /// What the peer sent right behind its request: to be read before the socket.
    package let firstBytes: [UInt8]
    private var handle: OpaquePointer?
    private let closed: (UpgradedSocket) -> Void

    init(
        descriptor: CInt,
        firstBytes: [UInt8],
        handle: OpaquePointer,
        closed: @escaping (UpgradedSocket) -> Void
    ) {
        self.descriptor = descriptor
        self.firstBytes = firstBytes
        self.handle = handle
        self.closed = closed
        let flags = fcntl(descriptor, F_GETFL)
        if flags >= 0, flags & O_NONBLOCK == 0 { _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) }
        var one: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Ends the connection; calling it again does nothing.
    ///
    /// With `isReset` the peer gets a reset in place of an orderly end, and what is on its way is lost.
    package func close(isReset: Bool = false) {
        guard let handle else { return }
        self.handle = nil
        if isReset {
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        } else {
            shutdown(descriptor, CInt(SHUT_RDWR))
        }
        _ = shim_mhd_close_upgraded(handle)
        closed(self)
    }
}
