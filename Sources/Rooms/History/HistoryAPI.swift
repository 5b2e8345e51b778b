package import RoomsRuntime
package import RoomsTransport
internal import RoomsWire

/// The server's HTTP API, for histories that clients may not read.
package struct HistoryAPI: Sendable {
    /// Of the method `history`.
    package var url: ServerURL
    /// Asked for before each request.
    package var key: @Sendable () throws -> Secret
    package var tls: TLSSettings
    package var proxy: String?

    package init(
        url: ServerURL,
        key: @escaping @Sendable () throws -> Secret,
        tls: TLSSettings = TLSSettings(),
        proxy: String? = nil
    ) {
        self.url = url
        self.key = key
        self.tls = tls
        self.proxy = proxy
    }

    /// An event may be six times as long in the API's JSON; what is longer still is lost.
    private static let longestAnswer = 32 << 20

    func request(_ question: HistoryRequest) throws -> TransferRequest {
        let json = Secret("application/json")
        var request = TransferRequest(
            .post,
            url,
            headers: [HTTPHeader(name: "content-type", value: json), HTTPHeader(name: "x-api-key", value: try key())]
        )
        request.body = Self.body(question)
        request.tls = tls
        request.proxy = proxy
        request.maxBody = Self.longestAnswer
        return request
    }

    private static func body(_ question: HistoryRequest) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "channel")
            writer.string(question.channel)
            writer.key(literal: "limit")
            writer.integer(question.limit)
            guard let since = question.since else { return }
            writer.key(literal: "since")
            writer.object { writer in
                writer.key(literal: "offset")
                writer.integer(since.offset)
                writer.key(literal: "epoch")
                writer.string(since.epoch)
            }
        }
        return writer.bytes
    }
}

/// What became of a question to the API.
enum HistoryOutcome: Equatable {
    case answered(APIAnswer)
    /// It failed in a way that an event among those asked for may bring about.
    case unreadable(isTooLarge: Bool)
    /// Nothing that is about the question.
    case unavailable(ByteString)

    init(_ result: Result<TransferAnswer, TransportError>) {
        switch result {
        case .success(let answer):
            switch answer.status {
            case 200:
                let wrong = HistoryOutcome.unavailable("it answers with something else than the API does")
                self = APIAnswer.decodeHistory(answer.body).map { .answered($0) } ?? wrong
            // A real server, when what was published is not JSON.
            case 500: self = .unreadable(isTooLarge: false)
            case 401, 403: self = .unavailable(ByteString("it does not accept the key (\(answer.status))"))
            default: self = .unavailable(ByteString("it answers with status \(answer.status)"))
            }
        case .failure(let error):
            self =
                error.code == .messageTooLarge ? .unreadable(isTooLarge: true) : .unavailable(ByteString(error.message))
        }
    }
}

/// One room's question, and the session's number for it.
struct HistoryQuestion: Equatable {
    var room: Int
    var attempt: UInt32
    var request: HistoryRequest
}
