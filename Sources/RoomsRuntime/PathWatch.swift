internal import CRoomsLinux
internal import Glibc

/// Tells when a file appears, its rights change or, if asked to, somebody has written to it; its directory need not be there yet.
///
/// Belongs to its loop's thread. It may tell too often, and where the kernel has no watches left it tells nothing: what
/// waits for it needs a timer as well.
package final class PathWatch {
    private static let bufferSize = 4_096
    private static let usualMask =
        UInt32(IN_CREATE) | UInt32(IN_MOVED_TO) | UInt32(IN_ATTRIB) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)
        | UInt32(IN_ONLYDIR)

    private let mask: UInt32
    private let loop: EventLoop
    private let path: [UInt8]
    private let changed: () -> Void
    private let descriptor: CInt
    /// The directory that is watched: the file's own, or the nearest above it that is there.
    private var watch: CInt = -1
    /// What has to appear there.
    private var awaited: [UInt8] = []
    private var isCancelled = false

    /// `path` is absolute.
    package init(
        _ path: ByteString,
        on loop: EventLoop,
        tellsOfContent: Bool = false,
        _ changed: @escaping () -> Void
    ) {
        mask = Self.usualMask | (tellsOfContent ? UInt32(IN_CLOSE_WRITE) : 0)
        self.loop = loop
        self.path = path.bytes
        self.changed = changed
        descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        guard descriptor >= 0 else { return }
        loop.watch(descriptor, for: .readable) { [unowned self] _ in read() }
        arm()
    }

    /// Tells nothing more.
    package func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        guard descriptor >= 0 else { return }
        loop.unwatch(descriptor)
        close(descriptor)
    }

    deinit { precondition(isCancelled, "a watch was let go of before it was cancelled") }

    /// Watches the deepest directory there is; tells when the file itself is there.
    private func arm() {
        var end = path.count
        while true {
            guard let slash = path[..<end].lastIndex(of: UInt8(ascii: "/")) else { return }
            let directory = slash == 0 ? [UInt8(ascii: "/")] : Array(path[..<slash])
            let found = (directory + [0]).withUnsafeBytes { bytes in
                bytes.baseAddress.map {
                    inotify_add_watch(descriptor, $0.assumingMemoryBound(to: CChar.self), mask)
                } ?? -1
            }
            guard found < 0 else {
                if watch >= 0, watch != found { inotify_rm_watch(descriptor, watch) }
                watch = found
                awaited = Array(path[(slash + 1)..<end])
                break
            }
            guard slash > 0 else { return }
            end = slash
        }
        // It may have come while nobody looked.
        guard exists(path[..<end]) else { return }
        if end == path.count { changed() } else { arm() }
    }

    private func exists(_ path: ArraySlice<UInt8>) -> Bool {
        (path + [0]).withUnsafeBytes { bytes in
            bytes.baseAddress.map { access($0.assumingMemoryBound(to: CChar.self), F_OK) == 0 } ?? false
        }
    }

    private func read() {
        var isMine = false
        withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: MemoryLayout<inotify_event>.alignment) {
            buffer in
            while true {
                let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                if holdsMine(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { isMine = true }
            }
        }
        guard isMine else { return }
        arm()
    }

    /// Whether one of the events is about what is awaited, or about the directory itself.
    private func holdsMine(_ events: UnsafeRawBufferPointer) -> Bool {
        var start = 0
        let head = MemoryLayout<inotify_event>.size
        while start + head <= events.count {
            let event = events.loadUnaligned(fromByteOffset: start, as: inotify_event.self)
            let name = events[(start + head)...].prefix(Int(event.len)).prefix { $0 != 0 }
            if event.len == 0 || name.elementsEqual(awaited) { return true }
            start += head + Int(event.len)
        }
        return false
    }
}
