/// Bytes that must not be printed: a token, a key, a header with credentials.
package struct Secret: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    package init(_ string: String) {
        bytes = [UInt8](string.utf8)
    }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Takes the same time wherever the first difference is.
    package func matches(_ other: some Collection<UInt8>) -> Bool {
        guard other.count == bytes.count else { return false }
        var difference: UInt8 = 0
        for (left, right) in zip(bytes, other) { difference |= left ^ right }
        return difference == 0
    }
}
