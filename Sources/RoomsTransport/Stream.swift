internal import CRoomsCurl
internal import Glibc
package import RoomsRuntime

/// An open connection, non-blocking, on its loop's thread.
///
/// A stream without TLS is a descriptor of its own; with TLS libcurl carries it. Both behave the same: a watch is
/// level-triggered, also for bytes that TLS has decrypted already, and bytes that `send` has taken go out without more
/// calls once the stream has been watched.
package final class Stream {
    package enum Received: Hashable, Sendable {
        case bytes(Int)
        case wouldBlock
        /// The peer sends no more.
        case end
    }

    /// What one TLS record holds.
    private static let recordSize = 16 * 1024

    private let multi: CurlMulti
    let descriptor: CInt
    /// The handle that carries the TLS; nil for a plain descriptor.
    private var easy: UnsafeMutableRawPointer?
    private var isOpen = true
    private var interest: Readiness = []
    private var isWatched = false
    private var handler: ((Readiness) -> Void)?
    /// Bytes that OpenSSL has begun to write: it wants to see the very same ones again.
    private var staged = UnsafeRawBufferPointer(start: nil, count: 0)
    private var staging: UnsafeMutableRawBufferPointer?
    /// TLS may hold bytes that the descriptor says nothing about.
    private var mayHoldBytes = false
    private var isLost = false

    init(_ multi: CurlMulti, _ descriptor: CInt, easy: UnsafeMutableRawPointer?) {
        self.multi = multi
        self.descriptor = descriptor
        self.easy = easy
        if easy != nil { multi.hold(descriptor) { [weak self] in self?.lost() } }
    }

    deinit {
        if isOpen, multi.loop.isOnLoop {
            close()
        } else if isOpen {
            // The loop has ended, and with it all watches.
            if let easy { multi.remove(easy) } else { _ = Glibc.close(descriptor) }
        }
        staging?.deallocate()
    }

    /// Open, and a descriptor of its own.
    var isUsable: Bool { isOpen && easy == nil }

    // MARK: bytes

    /// Sends what the connection takes now and says how many bytes; 0 means that it would block.
    package func send(_ bytes: UnsafeRawBufferPointer) throws(TransportError) -> Int {
        guard isOpen, !bytes.isEmpty else { return 0 }
        if let easy { return try send(bytes, easy) }
        while true {
            let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            if count >= 0 { return count }
            if errno == EAGAIN { return 0 }
            if errno != EINTR { throw TransportError.using(errno) }
        }
    }

    /// Reads what is there into `buffer`, which must not be empty.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(TransportError) -> Received {
        guard isOpen, !isLost else { return .end }
        if let easy { return try receive(into: buffer, easy) }
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if errno == EAGAIN { return .wouldBlock }
            if errno != EINTR { throw TransportError.using(errno) }
        }
    }

    // MARK: readiness

    /// Reports when the connection is ready for `interest`; replaces an earlier watch.
    package func watch(_ interest: Readiness, _ handler: @escaping (Readiness) -> Void) {
        guard isOpen, !isLost else { return }
        self.handler = handler
        multi.loop.unwatch(descriptor)
        self.interest = []
        isWatched = false
        rewatch(interest)
    }

    /// Changes what is watched for; while it is nothing, nothing is reported and nothing lost.
    package func rewatch(_ interest: Readiness) {
        guard isOpen, !isLost, let handler else { return }
        let wantedToRead = self.interest.contains(.readable)
        self.interest = interest
        let effective = staged.isEmpty ? interest : interest.union(.writable)
        if effective.isEmpty {
            // A descriptor in error is reported whatever it is watched for: again and again.
            if isWatched { multi.loop.unwatch(descriptor) }
            isWatched = false
        } else if isWatched {
            multi.loop.rewatch(descriptor, for: effective)
        } else {
            isWatched = true
            let direct = easy == nil ? handler : { [weak self] in self?.ready($0) }
            multi.loop.watch(descriptor, for: effective, direct)
        }
        if !wantedToRead, mayHoldBytes { reportHeldBytes() }
    }

    /// Ends the connection at once; bytes that the system has taken still go out.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        handler = nil
        if isWatched { multi.loop.unwatch(descriptor) }
        isWatched = false
        guard let easy else {
            _ = Glibc.close(descriptor)
            return
        }
        self.easy = nil
        multi.release(descriptor)
        multi.remove(easy)
    }

    // MARK: TLS

    private func send(_ bytes: UnsafeRawBufferPointer, _ easy: UnsafeMutableRawPointer) throws(TransportError) -> Int {
        guard try flush(easy) else { return 0 }
        let staging = staging ?? .allocate(byteCount: Self.recordSize, alignment: 16)
        self.staging = staging
        var taken = 0
        while taken < bytes.count, staged.isEmpty {
            let count = min(Self.recordSize, bytes.count - taken)
            staging.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + count]))
            staged = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(staging)[..<count])
            taken += count
            _ = try flush(easy)
        }
        if !staged.isEmpty { rewatch(interest) }
        return taken
    }

    /// Writes what is staged; false when it would block.
    private func flush(_ easy: UnsafeMutableRawPointer) throws(TransportError) -> Bool {
        while !staged.isEmpty {
            guard !isLost else { throw TransportError.using(ECONNRESET) }
            var count = 0
            switch curl_easy_send(easy, staged.baseAddress, staged.count, &count) {
            case CURLE_OK where count > 0: staged = UnsafeRawBufferPointer(rebasing: staged[count...])
            case CURLE_OK, CURLE_AGAIN: return false
            default: throw TransportError.using(ECONNRESET)
            }
        }
        return true
    }

    private func receive(
        into buffer: UnsafeMutableRawBufferPointer,
        _ easy: UnsafeMutableRawPointer
    ) throws(TransportError) -> Received {
        var count = 0
        let result = curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count)
        // TLS takes one record at a time off the descriptor: a read that leaves room in the buffer has emptied it.
        mayHoldBytes = result == CURLE_OK && count == buffer.count
        switch result {
        case CURLE_OK: return count > 0 ? .bytes(count) : .end
        case CURLE_AGAIN: return .wouldBlock
        default: throw TransportError.using(ECONNRESET)
        }
    }

    private func ready(_ readiness: Readiness) {
        var readiness = readiness
        if readiness.contains(.writable), !staged.isEmpty, let easy {
            // An error comes up again in the owner's next call.
            _ = try? flush(easy)
            if staged.isEmpty { rewatch(interest) }
            if !staged.isEmpty || !interest.contains(.writable) { readiness.remove(.writable) }
        }
        guard !readiness.isEmpty, let handler else { return }
        handler(readiness)
        if mayHoldBytes { reportHeldBytes() }
    }

    /// Makes up the event that the descriptor will not give.
    private func reportHeldBytes() {
        guard isOpen, interest.contains(.readable) else { return }
        multi.loop.schedule(after: .zero) { [weak self] in
            guard let self, isOpen, mayHoldBytes, interest.contains(.readable) else { return }
            ready(.readable)
        }
    }

    /// libcurl closes the connection on its own, which it does with one that it finds dead.
    private func lost() {
        isLost = true
        if isWatched { multi.loop.unwatch(descriptor) }
        isWatched = false
        multi.loop.schedule(after: .zero) { [weak self] in
            guard let self, isOpen else { return }
            handler?([.readable, .failed])
        }
    }
}
