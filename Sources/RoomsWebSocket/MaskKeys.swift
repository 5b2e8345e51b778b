internal import RoomsRuntime

/// Masking keys from the system's generator, fetched many at a time.
struct MaskKeys {
    private var pool: [UInt8] = []

    mutating func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        if pool.count < buffer.count { pool = Digest.randomBytes(max(1_024, buffer.count)) }
        buffer.copyBytes(from: pool.suffix(buffer.count))
        pool.removeLast(buffer.count)
    }
}
