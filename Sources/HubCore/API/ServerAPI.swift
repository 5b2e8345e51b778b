internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// The server HTTP API: `POST /api/<method>` with a JSON body.
///
/// Belongs to the hub's loop.
final class ServerAPI {
    static let prefix = ByteString("/api/")
    /// Payloads stand inside the requests and may be as deep as they like.
    private static let depth = 10_000

    private let key: Secret
    private let methods: APIMethods

    init(_ state: HubState, key: Secret, node: @escaping () -> NodeFacts) {
        self.key = key
        methods = APIMethods(state, node: node)
    }

    /// The answer to a request whose path begins with `prefix`.
    func answer(_ request: HTTPRequest, at moment: Moment) -> HTTPResponse {
        let name = String(decoding: request.path.bytes.dropFirst(Self.prefix.count), as: UTF8.self)
        guard let method = APIMethod(rawValue: name) else { return .text("404 page not found\n", status: 404) }
        guard request.method == "POST" else { return HTTPResponse(status: 405) }
        guard isAuthorized(request) else { return HTTPResponse(status: 401) }
        // Payloads stand in it byte for byte, also those that are not UTF-8.
        let document = try? JSONDocument.parse(request.body, maximumDepth: Self.depth, checksUTF8: false)
        guard let root = document?.root,
            let body = APIRequest(root, text: request.body)
        else { return .text("Bad Request\n", status: 400) }
        var writer = JSONWriter()
        if method == .batch {
            guard let commands = body["commands"] else { return .json(Array("{}".utf8)) }
            guard let elements = commands.elements else { return .text("Bad Request\n", status: 400) }
            batch(elements, text: request.body, at: moment, into: &writer)
            return .json(writer.bytes)
        }
        do throws(APIFault) {
            let result = try methods.perform(method, body, at: moment)
            writer.object { writer in
                writer.key(literal: "result")
                result.write(into: &writer)
            }
        } catch {
            guard case .refused(let refusal) = error else { return .text("Bad Request\n", status: 400) }
            return answer(refusal, to: request)
        }
        return .json(writer.bytes)
    }

    /// The error in a body of status 200, or as a status, as the caller wants it.
    private func answer(_ refusal: HubError, to request: HTTPRequest) -> HTTPResponse {
        var writer = JSONWriter()
        if request.header("x-centrifugo-error-mode") == "transport" {
            writer.object { refusal.write(into: &$0) }
            return .json(writer.bytes, status: refusal.status)
        }
        writer.object { APIResult.write(refusal, into: &$0) }
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
    private func batch(_ commands: [JSONNode], text: [UInt8], at moment: Moment, into writer: inout JSONWriter) {
        writer.beginObject()
        guard !commands.isEmpty else { return writer.endObject() }
        writer.key(literal: "replies")
        writer.beginArray()
        for command in commands {
            writer.beginObject()
            do throws(APIFault) {
                guard let member = command.members?.first, let method = APIMethod(rawValue: member.key.string),
                    method != .batch
                else { throw .refused(.notFound) }
                guard let body = APIRequest(member.value, text: text) else { throw .refused(.badRequest) }
                let result = try methods.perform(method, body, at: moment)
                writer.key(member.key)
                result.write(into: &writer)
            } catch {
                APIResult.write(error.answer, into: &writer)
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}

/// The methods this hub has.
enum APIMethod: String {
    case publish, broadcast, history
    case historyRemove = "history_remove"
    case presence
    case presenceStats = "presence_stats"
    case channels, info, rpc, batch
    case subscribe, unsubscribe, disconnect, refresh
    /// Ours alone: an app says what its rooms keep and allow.
    case declareRooms = "declare_rooms"
}
