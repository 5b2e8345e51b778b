internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// The server HTTP API: `POST /api/<method>` with a JSON body.
///
/// Belongs to the loop of its registry.
final class ServerAPI {
    static let prefix = ByteString("/api/")
    /// Payloads stand inside the requests and may be as deep as they like.
    private static let depth = 10_000

    private let registry: RoomRegistry
    private let key: Secret
    private let describeNode: (inout JSONWriter) -> Void

    /// `describeNode` writes the members of the one node that `info` tells about.
    init(registry: RoomRegistry, key: Secret, describeNode: @escaping (inout JSONWriter) -> Void) {
        self.registry = registry
        self.key = key
        self.describeNode = describeNode
    }

    /// The answer to a request whose path begins with `prefix`.
    func answer(_ request: HTTPRequest, at now: Instant) -> HTTPResponse {
        let name = String(decoding: request.path.bytes.dropFirst(Self.prefix.count), as: UTF8.self)
        guard let method = APIMethod(rawValue: name) else { return .text("404 page not found\n", status: 404) }
        guard request.method == "POST" else { return HTTPResponse(status: 405) }
        guard isAuthorized(request) else { return HTTPResponse(status: 401) }
        guard let root = try? JSONDocument.parse(request.body, maximumDepth: Self.depth).root,
            let body = APIRequest(root, text: request.body)
        else { return .text("Bad Request\n", status: 400) }
        var writer = JSONWriter()
        if method == .batch {
            guard let commands = body["commands"]?.elements else { return .text("Bad Request\n", status: 400) }
            batch(commands, text: request.body, at: now, into: &writer)
            return .json(writer.bytes)
        }
        do throws(APIFault) {
            let result = try perform(method, body, at: now)
            writer.object { writer in
                writer.key(literal: "result")
                write(result, into: &writer)
            }
        } catch {
            guard case .refused(let refusal) = error else { return .text("Bad Request\n", status: 400) }
            writer.object { write(refusal, into: &$0) }
        }
        return .json(writer.bytes)
    }

    private func isAuthorized(_ request: HTTPRequest) -> Bool {
        if let own = request.header("x-api-key"), key.matches(own.bytes) { return true }
        if let authorization = request.header("authorization") {
            let scheme = ByteString("apikey ")
            let start = ByteString(Array(authorization.bytes.prefix(scheme.count)))
            let rest = authorization.bytes.dropFirst(scheme.count)
            if HTTPRequest.lowercased(start) == scheme, key.matches(rest) { return true }
        }
        return request.parameter("api_key").map { key.matches($0.bytes) } ?? false
    }

    /// One reply for each command, in their order, whatever became of the others.
    private func batch(_ commands: [JSONNode], text: [UInt8], at now: Instant, into writer: inout JSONWriter) {
        writer.beginObject()
        writer.key(literal: "replies")
        writer.beginArray()
        for command in commands {
            writer.beginObject()
            do throws(APIFault) {
                guard let member = command.members?.first, let body = APIRequest(member.value, text: text) else {
                    throw .refused(.badRequest)
                }
                guard let method = APIMethod(rawValue: member.key.string), method != .batch else {
                    throw .refused(.notFound)
                }
                let result = try perform(method, body, at: now)
                writer.key(member.key)
                write(result, into: &writer)
            } catch {
                write(error.answer, into: &writer)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }

    private func perform(_ method: APIMethod, _ body: APIRequest, at now: Instant) throws(APIFault) -> APIResult {
        switch method {
        case .publish: return .published(try publish(body, in: body.channel(), at: now))
        case .broadcast:
            return .broadcast(
                try body.channels().map { channel in
                    do throws(APIFault) {
                        return .success(try publish(body, in: channel, at: now))
                    } catch {
                        return .failure(error.answer)
                    }
                }
            )
        case .history: return .history(try history(body, at: now))
        case .historyRemove:
            let room = try roomWithHistory(body.channel())
            room.history?.removeAll()
            return .empty
        case .info: return .node
        case .rpc: throw .refused(.notFound)
        case .batch: throw .malformed
        }
    }

    private func publish(
        _ body: APIRequest,
        in channel: ByteString,
        at now: Instant
    ) throws(APIFault) -> StreamPosition? {
        let publication = try body.publication()
        let (isKept, key) = (try body.isKept(), try body.publicationKey())
        do {
            return try registry.publish(publication, in: channel, isKept: isKept, key: key, at: now)
        } catch {
            throw .refused(error)
        }
    }

    private func roomWithHistory(_ channel: ByteString) throws(APIFault) -> Room {
        guard let rule = registry.rule(for: channel) else { throw .refused(.unknownChannel) }
        guard rule.history > 0, let room = registry.room(channel) else { throw .refused(.notAvailable) }
        return room
    }

    private func history(_ body: APIRequest, at now: Instant) throws(APIFault) -> HistoryResult {
        let room = try roomWithHistory(body.channel())
        let query = try body.historyQuery()
        // The server API says 100 where a client hears 107.
        guard !query.isReverse || query.since?.offset != 0 else { throw .refused(.internalError) }
        do {
            return try registry.page(
                of: room,
                since: query.since,
                limit: query.limit,
                isReverse: query.isReverse,
                at: now
            )
        } catch {
            throw .refused(error)
        }
    }

    // MARK: writing

    private func write(_ result: APIResult, into writer: inout JSONWriter) {
        writer.object { writer in
            switch result {
            case .empty: break
            case .published(let position): write(position, into: &writer)
            case .broadcast(let results):
                writer.key(literal: "responses")
                writer.array { writer in
                    for result in results {
                        writer.object { writer in
                            switch result {
                            case .success(let position):
                                writer.key(literal: "result")
                                writer.object { write(position, into: &$0) }
                            case .failure(let error): write(error, into: &writer)
                            }
                        }
                    }
                }
            case .history(let history): write(history, into: &writer)
            case .node:
                writer.key(literal: "nodes")
                writer.array { $0.object(describeNode) }
            }
        }
    }

    private func write(_ error: HubError, into writer: inout JSONWriter) {
        writer.key(literal: "error")
        writer.object { writer in
            writer.key(literal: "code")
            writer.integer(error.code)
            writer.key(literal: "message")
            writer.string(error.message)
        }
    }

    private func write(_ position: StreamPosition?, into writer: inout JSONWriter) {
        guard let position else { return }
        writer.key(literal: "offset")
        writer.integer(position.offset)
        writer.key(literal: "epoch")
        writer.string(position.epoch)
    }

    private func write(_ history: HistoryResult, into writer: inout JSONWriter) {
        writer.key(literal: "publications")
        writer.array { writer in
            for publication in history.publications {
                writer.object { APIRequest.write(publication, into: &$0) }
            }
        }
        writer.key(literal: "epoch")
        writer.string(history.epoch)
        writer.key(literal: "offset")
        writer.integer(history.offset)
    }
}

/// The methods this hub has.
enum APIMethod: String {
    case publish, broadcast, history
    case historyRemove = "history_remove"
    case info, rpc, batch
}

/// What a method gives back.
private enum APIResult {
    case empty
    case published(StreamPosition?)
    case broadcast([Result<StreamPosition?, HubError>])
    case history(HistoryResult)
    case node
}
