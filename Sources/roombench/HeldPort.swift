internal import Glibc

/// A port of 127.0.0.1 that is bound but not listened on, so that nobody else takes it before its program does.
final class HeldPort {
    let number: UInt16
    private let descriptor: CInt

    init() {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var one: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { fail("no free port") }
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }

    /// Listens on it here; the descriptor is the caller's to close.
    func takeListener() -> CInt {
        let listener = dup(descriptor)
        guard listener >= 0, listen(listener, 64) == 0 else { fail("cannot listen on port \(number)") }
        return listener
    }

    /// Waits until a program listens on it.
    func waitUntilTaken() {
        let deadline = Stopwatch()
        while deadline.seconds < 20 {
            let probe = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
            defer { close(probe) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = number.bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let isOpen = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
            if isOpen { return }
            pause(milliseconds: 5)
        }
        fail("nobody listens on port \(number)")
    }
}
