internal import Glibc
package import RoomsRuntime

/// Tells the service manager how the service is doing; does nothing where there is none (no `NOTIFY_SOCKET`).
///
/// The datagrams are those of `sd_notify(3)`, which cannot be used itself: it waits when the manager does not read. This
/// never does: a message there is no room for is dropped, and the caller is told so.
package struct ServiceNotifier: Sendable {
    private let address: ByteString?

    /// The manager of this process, by its environment.
    package init() {
        self.init(address: getenv("NOTIFY_SOCKET").map { ByteString(String(cString: $0)) })
    }

    /// `address` as in `NOTIFY_SOCKET`: a path, or an abstract name behind `@`.
    package init(address: ByteString?) {
        self.address = address.flatMap { $0.isEmpty ? nil : $0 }
    }

    package var isSupervised: Bool { address != nil }

    /// The service is up: what waits for it may start.
    @discardableResult
    package func ready(status: String) -> Bool { send("READY=1\nSTATUS=\(line(status))") }

    /// The end has begun.
    @discardableResult
    package func stopping(status: String) -> Bool { send("STOPPING=1\nSTATUS=\(line(status))") }

    /// One line for `systemctl status`.
    @discardableResult
    package func status(_ text: String) -> Bool { send("STATUS=\(line(text))") }

    /// Foreign text must not begin a line of its own: it would be taken for a message of ours.
    private func line(_ text: String) -> String { ByteString(text).description }

    private func send(_ message: String) -> Bool {
        guard let address else { return false }
        var peer = sockaddr_un()
        guard address.count < MemoryLayout.size(ofValue: peer.sun_path) else { return false }
        peer.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &peer.sun_path) { $0.copyBytes(from: address.bytes) }
        var length = MemoryLayout<sa_family_t>.size + address.count
        if address.bytes.first == UInt8(ascii: "@") {
            // An abstract name begins with a zero and is as long as the length says.
            peer.sun_path.0 = 0
        } else {
            length += 1
        }
        let kind = CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let sent = withUnsafePointer(to: &peer) { peer in
            peer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, message, message.utf8.count, CInt(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
        return sent == message.utf8.count
    }
}
