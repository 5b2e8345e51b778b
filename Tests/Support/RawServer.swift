internal import CRoomsLinux
import Foundation
internal import RoomsRuntime

/// A listening socket whose connections a closure serves, each on a thread of its own with blocking calls.
package final class RawServer: Sendable {
    /// 0 for a Unix socket.
    package let port: UInt16
    /// -1 once it is closed.
    private let listener: Lock<Int32>
    private let served = Lock(0)

    /// Listens on a free port of 127.0.0.1, or on the Unix socket `path`.
    ///
    /// `window`: how many bytes may wait here unread.
    package init(
        unixPath path: String? = nil,
        window: Int32? = nil,
        _ serve: @escaping @Sendable (RawConnection) -> Void
    ) throws {
        let descriptor = socket(path == nil ? AF_INET : AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var window {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &window, socklen_t(MemoryLayout<Int32>.size))
        }
        port = path == nil ? try Self.bindPort(descriptor) : try Self.bindPath(descriptor, path ?? "")
        guard listen(descriptor, 128) == 0 else { throw POSIXError(.EIO) }
        let listener = Lock(descriptor)
        self.listener = listener
        let served = served
        Thread.detachNewThread {
            while true {
                let accepted = accept4(descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
                guard accepted >= 0 else { break }
                served.withLock { $0 += 1 }
                Thread.detachNewThread {
                    let connection = RawConnection(accepted)
                    serve(connection)
                    connection.close()
                }
            }
            listener.withLock { number in
                close(number)
                number = -1
            }
        }
    }

    deinit { stop() }

    /// Refuses connections from now on; those that are served go on.
    package func stop() {
        listener.withLock { if $0 >= 0 { shutdown($0, Int32(SHUT_RDWR)) } }
    }

    /// The number of connections taken so far.
    package var connections: Int { served.withLock { $0 } }

    private static func bindPort(_ descriptor: Int32) throws -> UInt16 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) | getsockname(descriptor, $0, &length)
            }
        }
        guard result == 0 else { throw POSIXError(.EADDRINUSE) }
        return UInt16(bigEndian: address.sin_port)
    }

    private static func bindPath(_ descriptor: Int32, _ path: String) throws -> UInt16 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw POSIXError(.EADDRINUSE) }
        return 0
    }
}

/// One connection of a `RawServer`; reads give up after 60 s.
package final class RawConnection: Sendable {
    private let descriptor: Lock<Int32>

    package init(_ descriptor: Int32) {
        self.descriptor = Lock(descriptor)
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        // Two small writes in a row would wait for the peer's acknowledgement of the first, 40 ms.
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    /// What has come, at most `limit` bytes; empty at the end.
    package func read(_ limit: Int = 65_536) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor.withLock { $0 }, &bytes, limit, 0)
        return Array(bytes.prefix(max(0, count)))
    }

    /// Reads byte by byte to the end of a request's head and gives it as text.
    package func readHead() -> String {
        var bytes: [UInt8] = []
        while !bytes.suffix(4).elementsEqual([13, 10, 13, 10]) {
            let next = read(1)
            if next.isEmpty { break }
            bytes += next
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads exactly `count` bytes, fewer only at the end.
    package func read(exactly count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let next = read(count - bytes.count)
            if next.isEmpty { break }
            bytes += next
        }
        return bytes
    }

    /// Whether bytes, or the end, are there to be read within that time.
    package func hasInput(within limit: Duration) -> Bool {
        var poll = pollfd(fd: descriptor.withLock { $0 }, events: Int16(POLLIN), revents: 0)
        return Glibc.poll(&poll, 1, Int32(limit.wholeMilliseconds)) > 0
    }

    /// False when the peer is gone.
    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor.withLock { $0 }, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Lets little wait in the kernel, so that a peer that reads slowly is felt.
    package func shrinkBuffers() {
        var size: Int32 = 8_192
        setsockopt(descriptor.withLock { $0 }, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Says that nothing more comes; a read of another thread ends.
    package func shutdown() {
        _ = Glibc.shutdown(descriptor.withLock { $0 }, Int32(SHUT_RDWR))
    }

    /// Sends no more; what comes can still be read.
    package func endSending() {
        _ = Glibc.shutdown(descriptor.withLock { $0 }, Int32(SHUT_WR))
    }

    /// Whether the peer goes within that time; nothing of what it sent is read.
    @discardableResult
    package func isLeft(within limit: Duration) -> Bool {
        var poll = pollfd(fd: descriptor.withLock { $0 }, events: 0, revents: 0)
        return Glibc.poll(&poll, 1, Int32(limit.wholeMilliseconds)) > 0
    }

    /// Ends the connection with a reset in place of a close.
    package func reset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor.withLock { $0 }, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    package func close() {
        let number = descriptor.withLock { number in
            defer { number = -1 }
            return number
        }
        if number >= 0 { _ = Glibc.close(number) }
    }
}
