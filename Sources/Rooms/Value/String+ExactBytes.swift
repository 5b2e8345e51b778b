/// Text compared byte by byte: `==` of strings takes composed and decomposed accents for the same.
extension String {
    func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withBytes { mine in other.withBytes { mine.elementsEqual($0) } }
    }

    func bytesPrecede(_ other: String) -> Bool {
        withBytes { mine in other.withBytes { mine.lexicographicallyPrecedes($0) } }
    }

    /// The UTF-8; the pointer lives for the call.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        var contiguous = self
        return contiguous.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}
