internal import CRoomsLinux
internal import Glibc
internal import RoomsRuntime

/// A connected socket on a loop: what came in gathers in `input`, what is written goes out as the peer takes it.
///
/// Belongs to its loop's thread.
final class LoopSocket {
    private(set) var input: [UInt8] = []
    private(set) var isOpen = true
    /// Runs when something came in.
    var onInput: (() -> Void)?
    /// Runs once, when the peer hung up or the connection failed; not after `close`.
    var onEnd: (() -> Void)?
    /// Runs when everything written so far is in the kernel's hands.
    var onFlushed: (() -> Void)?

    private let loop: EventLoop
    private let descriptor: CInt
    private var output: [UInt8] = []
    private var written = 0
    private var isReading = true

    init(_ descriptor: CInt, on loop: EventLoop) {
        self.descriptor = descriptor
        self.loop = loop
        loop.watch(descriptor, for: .readable) { [self] in ready($0) }
    }

    func write(_ bytes: [UInt8]) {
        guard isOpen else { return }
        output += bytes
        flush()
    }

    /// Forgets the first bytes of `input`.
    func drop(_ count: Int) {
        input.removeFirst(min(count, input.count))
    }

    func pauseReading() {
        isReading = false
        if isOpen { rewatch() }
    }

    func resumeReading() {
        isReading = true
        if isOpen { rewatch() }
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        loop.unwatch(descriptor)
        // A child that is just being spawned holds copies of all descriptors until it executes its program.
        shutdown(descriptor, CInt(SHUT_RDWR))
        Glibc.close(descriptor)
        onInput = nil
        onEnd = nil
        onFlushed = nil
    }

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        if isOpen, isReading, readiness.contains(.readable) || readiness.contains(.failed) { read() }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while isOpen, isReading {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 {
                input += buffer[..<count]
                onInput?()
            } else if count < 0, errno == EAGAIN || errno == EINTR {
                return
            } else {
                let end = onEnd
                close()
                end?()
            }
        }
    }

    private func flush() {
        while isOpen, written < output.count {
            let count = output[written...].withUnsafeBytes { bytes in
                send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            }
            if count < 0 { break }
            written += count
        }
        if written == output.count {
            output.removeAll(keepingCapacity: true)
            written = 0
            onFlushed?()
        }
        if isOpen { rewatch() }
    }

    private func rewatch() {
        var interest: Readiness = []
        if isReading { interest.insert(.readable) }
        if written < output.count { interest.insert(.writable) }
        loop.rewatch(descriptor, for: interest)
    }
}

/// A listening socket on a loop.
///
/// Belongs to its loop's thread.
final class LoopListener {
    private let loop: EventLoop
    private let descriptor: CInt

    /// Takes over a descriptor that listens.
    init(_ descriptor: CInt, on loop: EventLoop, _ accepted: @escaping (LoopSocket) -> Void) {
        self.loop = loop
        self.descriptor = descriptor
        loop.watch(descriptor, for: .readable) { [descriptor] _ in
            while true {
                let flags = CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
                let connection = accept4(descriptor, nil, nil, flags)
                guard connection >= 0 else { return }
                accepted(LoopSocket(connection, on: loop))
            }
        }
    }

    func close() {
        loop.unwatch(descriptor)
        shutdown(descriptor, CInt(SHUT_RDWR))
        Glibc.close(descriptor)
    }
}
