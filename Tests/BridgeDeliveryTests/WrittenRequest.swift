import Glibc
import RoomsHTTP
import RoomsRuntime

@testable import BridgeDelivery

/// A request as a receiver takes it apart.
struct WrittenRequest {
    let head: [UInt8]
    let body: [UInt8]

    init(_ request: RequestHead) {
        let end = Self.place(of: "\r\n\r\n", in: request.bytes).map { $0 + 4 } ?? 0
        head = Array(request.bytes[..<end])
        body = Array(request.bytes[end...])
    }

    var fields: [String: String] {
        var fields: [String: String] = [:]
        for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            fields[String(parts[0])] = String(parts.last?.dropFirst() ?? "")
        }
        return fields
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    subscript(name: String) -> String? { fields[name] }

    /// Whether its length is right and it is signed over exactly the body.
    func isIntact(_ key: MessageAuthenticator, id: String, timestamp: Int) -> Bool {
        var signed = Array("\(id).\(timestamp).".utf8)
        signed.append(contentsOf: body)
        let signature = String(decoding: Base64.encode(key.authenticate(signed)), as: UTF8.self)
        return Self.place(of: "\r\ncontent-length: \(body.count)\r\n", in: head) != nil
            && Self.place(of: "\r\nwebhook-signature: v1,\(signature)\r\n", in: head) != nil
    }

    /// A hundred thousand requests are searched through: by the C library.
    private static func place(of text: String, in bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress, let first = text.utf8.first else { return nil }
            var index = 0
            while let found = memchr(base + index, Int32(first), bytes.count - index) {
                index = UnsafeRawPointer(found) - base
                guard index + text.utf8.count <= bytes.count else { return nil }
                if memcmp(found, text, text.utf8.count) == 0 { return index }
                index += 1
            }
            return nil
        }
    }
}
