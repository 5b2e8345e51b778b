internal import RoomsRuntime

/// The `keep-alive` header field.
enum KeepAlive {
    /// The seconds of `timeout=N`; nil when there is none that can be read.
    static func timeout(_ field: ByteString) -> Int64? {
        for parameter in field.bytes.split(separator: UInt8(ascii: ",")) {
            let text = parameter.filter { $0 != 0x20 && $0 != 0x09 }
            guard text.starts(with: "timeout=".utf8) else { continue }
            return Int64(String(decoding: text.dropFirst("timeout=".utf8.count), as: UTF8.self)).map { max(0, $0) }
        }
        return nil
    }
}
