internal import Glibc

/// Memory whose end is the end of a page, with a page behind it that nobody may read: one byte too far ends the test.
package struct GuardedMemory: ~Copyable {
    private let base: UnsafeMutableRawPointer
    private let room: Int
    private let pageSize: Int

    package init(capacity: Int) {
        pageSize = sysconf(Int32(_SC_PAGESIZE))
        room = (max(1, capacity) + pageSize - 1) / pageSize * pageSize
        guard let base = mmap(nil, room + pageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            base != MAP_FAILED, mprotect(base + room, pageSize, PROT_NONE) == 0
        else { preconditionFailure("no memory to guard") }
        self.base = base
    }

    deinit { munmap(base, room + pageSize) }

    /// Runs `body` over a copy of `bytes` that ends where the guarded page begins.
    package func withBytes<Result, Failure: Error>(
        _ bytes: some Collection<UInt8>,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(bytes.count <= room, "more bytes than were asked for")
        let start = base + room - bytes.count
        let buffer = UnsafeMutableRawBufferPointer(start: start, count: bytes.count)
        buffer.copyBytes(from: bytes)
        return try body(UnsafeRawBufferPointer(buffer))
    }
}
