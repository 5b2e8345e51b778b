/// Immutable bytes at a fixed address: what a publisher sent, copied once from the receive buffer and shared from then on.
package struct Payload: Sendable {
    /// Count and bytes in one piece of memory.
    private final class Storage: ManagedBuffer<Int, UInt8> {}

    // Safety: the memory is written in `init` alone, and only read from then on.
    private nonisolated(unsafe) let storage: ManagedBuffer<Int, UInt8>

    package init(copying bytes: UnsafeRawBufferPointer) {
        storage = Storage.create(minimumCapacity: bytes.count) { _ in bytes.count }
        guard let source = bytes.baseAddress else { return }
        storage.withUnsafeMutablePointerToElements {
            UnsafeMutableRawPointer($0).copyMemory(from: source, byteCount: bytes.count)
        }
    }

    package init(_ bytes: [UInt8]) {
        self = bytes.withUnsafeBytes { Payload(copying: $0) }
    }

    package init(_ string: String) {
        self.init([UInt8](string.utf8))
    }

    package static let empty = Payload([])

    package var count: Int { storage.header }

    /// The pointer is valid for the length of the call.
    package func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withUnsafeMutablePointers { count, bytes throws(Failure) in
            try body(UnsafeRawBufferPointer(start: bytes, count: count.pointee))
        }
    }

    package var array: [UInt8] { withBytes { [UInt8]($0) } }
}

extension Payload: Equatable {
    package static func == (left: Payload, right: Payload) -> Bool {
        left.withBytes { left in right.withBytes { right in left.elementsEqual(right) } }
    }
}
