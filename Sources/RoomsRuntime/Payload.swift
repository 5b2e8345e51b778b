/// Immutable bytes at a fixed address: what a publisher sent, copied once from the receive buffer and shared from then on.
package final class Payload: Sendable {
    // Safety: the memory is written in `init` alone and freed in `deinit`; in between it is only read.
    private nonisolated(unsafe) let base: UnsafeMutableRawPointer
    package let count: Int

    package init(copying bytes: UnsafeRawBufferPointer) {
        count = bytes.count
        base = .allocate(byteCount: max(1, bytes.count), alignment: 8)
        if let source = bytes.baseAddress { base.copyMemory(from: source, byteCount: bytes.count) }
    }

    package init(_ bytes: [UInt8]) {
        count = bytes.count
        base = .allocate(byteCount: max(1, bytes.count), alignment: 8)
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { base.copyMemory(from: start, byteCount: source.count) }
        }
    }

    package convenience init(_ string: String) {
        self.init([UInt8](string.utf8))
    }

    deinit { base.deallocate() }

    package static let empty = Payload([])

    /// The pointer is valid for the length of the call.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: base, count: count))
    }

    package var array: [UInt8] { withBytes { [UInt8]($0) } }
}

extension Payload: Equatable {
    package static func == (left: Payload, right: Payload) -> Bool {
        left.withBytes { left in right.withBytes { right in left.elementsEqual(right) } }
    }
}
