internal import RoomsHTTP
package import RoomsRuntime
internal import RoomsWire

/// The body of an answer to a batch, as far as it came.
package struct AnswerBody: Sendable {
    /// The media type by which a receiver says that the body is a report, whatever the status.
    static let reportType: ByteString = "application/vnd.roombridge.batch-result+json"

    package var bytes: [UInt8]
    package var isComplete: Bool
    /// It calls itself a report.
    package var isDeclared: Bool

    package init(bytes: [UInt8], isComplete: Bool, contentType: ByteString?) {
        self.bytes = bytes
        self.isComplete = isComplete
        let type = (contentType?.bytes ?? []).prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }
        isDeclared = type.lazy.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
            .elementsEqual(Self.reportType.bytes)
    }
}

/// What a receiver says of the single events of a batch.
enum BatchReport {
    /// The first so many are done.
    case acked(Int)
    case results([ByteString: Result])

    enum Word {
        case status(Int)
        case retry
        case dead
    }

    struct Result {
        var word: Word
        var retryAfter: Duration?
    }

    /// Nil when the body is none: naive receivers answer with whatever they like.
    init?(_ body: [UInt8]) {
        guard let root = try? JSONDocument.parse(body).root, root.members != nil else { return nil }
        if let acked = root["acked"] {
            guard let count: Int = acked.integer(), count >= 0 else { return nil }
            self = .acked(count)
            return
        }
        guard let elements = root["results"]?.elements else { return nil }
        var results: [ByteString: Result] = [:]
        for element in elements {
            guard let id = element["id"]?.string, let status = element["status"] else { return nil }
            let word: Word =
                if let code: Int = status.integer() {
                    .status(code)
                } else {
                    status.string == "dead" ? .dead : .retry
                }
            let retryAfter = element["retry_after"]?.number.flatMap { RetryAfter.delay($0, date: nil, wall: 0) }
            // Said twice, and not the same: the worse counts.
            if case .status(200..<300) = word, results[id] != nil { continue }
            results[id] = Result(word: word, retryAfter: retryAfter)
        }
        self = .results(results)
    }
}
