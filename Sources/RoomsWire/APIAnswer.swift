internal import RoomsRuntime

/// What the server's HTTP API answers to `history`.
package enum APIAnswer: Equatable, Sendable {
    case history(HistoryResult)
    case error(ErrorReply)

    /// Nil when it is no such answer.
    ///
    /// As lenient as `JSONCodec`: what was published need not be UTF-8.
    package static func decodeHistory(_ body: [UInt8]) -> APIAnswer? {
        var members = Members()
        body.withUnsafeBytes { bytes in
            guard var reader = JSONMessageReader(bytes, line: 0..<bytes.count) else { return }
            do throws(WireError) {
                try reader.read(&members)
            } catch {
                members = Members()
            }
        }
        if let error = members.error { return .error(error) }
        return members.result.map { .history($0) }
    }

    private struct Members: JSONReadable {
        var result: HistoryResult?
        var error: ErrorReply?

        mutating func readMember(_ reader: inout JSONMessageReader) throws(WireError) {
            switch reader.key {
            case "result": try reader.read(&result, HistoryResult())
            case "error": try reader.read(&error, ErrorReply(code: 0, message: .empty))
            default: try reader.skip()
            }
        }
    }
}
