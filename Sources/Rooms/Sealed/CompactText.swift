internal import RoomsRuntime

/// Base64url as the compact form of RFC 7516 has it: without padding, and each value in one form only.
enum CompactText {
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        text.contains(UInt8(ascii: "=")) ? nil : Base64.decodeURL(text)
    }
}
