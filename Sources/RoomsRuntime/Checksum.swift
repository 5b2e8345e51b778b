internal import CRoomsLinux

/// CRC-32C (Castagnoli, RFC 3720 appendix B.4), eight bytes a step: by the processor's instruction, or by tables.
///
/// Check value: E3069283 over "123456789".
package struct Checksum: Sendable {
    private static let tables: [[UInt32]] = {
        var tables = [[UInt32]](repeating: [UInt32](repeating: 0, count: 256), count: 8)
        for index in 0..<256 {
            var value = UInt32(index)
            for _ in 0..<8 { value = value & 1 != 0 ? value >> 1 ^ 0x82f6_3b78 : value >> 1 }
            tables[0][index] = value
        }
        for index in 0..<256 {
            for slice in 1..<8 {
                let previous = tables[slice - 1][index]
                tables[slice][index] = previous >> 8 ^ tables[0][Int(previous & 255)]
            }
        }
        return tables
    }()

    private static let flat: [UInt32] = tables.flatMap { $0 }

    private static let hasInstruction = shim_has_crc32c() != 0

    private var state: UInt32 = .max
    private let usesInstruction: Bool

    package init() {
        usesInstruction = Self.hasInstruction
    }

    /// With tables also where the processor could do it.
    init(withTables: Void) {
        usesInstruction = false
    }

    package var value: UInt32 { ~state }

    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard usesInstruction else { return addByTables(bytes) }
        if let base = bytes.baseAddress { state = shim_crc32c(state, base, bytes.count) }
    }

    private mutating func addByTables(_ bytes: UnsafeRawBufferPointer) {
        var state = state
        var index = 0
        Self.flat.withUnsafeBufferPointer { table in
            while index &+ 8 <= bytes.count {
                let word =
                    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ UInt64(state)
                state =
                    table[1792 &+ Int(word & 255)] ^ table[1536 &+ Int(word >> 8 & 255)]
                    ^ table[1280 &+ Int(word >> 16 & 255)] ^ table[1024 &+ Int(word >> 24 & 255)]
                    ^ table[768 &+ Int(word >> 32 & 255)] ^ table[512 &+ Int(word >> 40 & 255)]
                    ^ table[256 &+ Int(word >> 48 & 255)] ^ table[Int(word >> 56)]
                index &+= 8
            }
            while index < bytes.count {
                state = state >> 8 ^ table[Int((state ^ UInt32(bytes[index])) & 255)]
                index &+= 1
            }
        }
        self.state = state
    }

    package mutating func add(_ number: UInt64) {
        withUnsafeBytes(of: number.littleEndian) { add($0) }
    }
}
