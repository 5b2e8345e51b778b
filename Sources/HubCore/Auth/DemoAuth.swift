internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// The auth route of an imagined app, so that joining rooms can be tried with no other program.
///
/// No I/O. Belongs to the loop of its registry.
struct DemoAuth {
    private typealias User = DemoAuthSettings.User

    /// What becomes of one room.
    private enum Verdict {
        case granted
        case refused(ByteString)
    }

    private let settings: DemoAuthSettings
    private let key: TokenKey
    private let registry: RoomRegistry
    private let configPath: ByteString

    init(_ settings: DemoAuthSettings, key: TokenKey, registry: RoomRegistry) {
        self.settings = settings
        self.key = key
        self.registry = registry
        configPath = ByteString(settings.path.bytes + Array("/config".utf8))
    }

    // MARK: HTTP

    /// Nil for a path that is not its own.
    func answer(_ request: HTTPRequest, at moment: Moment) -> HTTPResponse? {
        let isConfig = request.path == configPath
        guard isConfig || request.path == settings.path else { return nil }
        let method: ByteString = isConfig ? "GET" : "POST"
        if request.method == "OPTIONS" { return respond(204, allowing: method) }
        let authorization = request.header("authorization")
        do throws(DemoAuthFault) {
            guard request.method == method else {
                throw DemoAuthFault(status: 405, code: "bad_request", message: "not that method, use \(method)")
            }
            let body =
                isConfig
                ? try config(host: request.header("host"), authorization: authorization, at: moment)
                : try tokens(request.body, authorization: authorization, at: moment)
            return respond(200, body, allowing: method)
        } catch {
            var writer = JSONWriter()
            writer.object {
                $0.key(literal: "error")
                $0.string(error.code)
                $0.key(literal: "message")
                $0.string(error.message)
            }
            return respond(error.status, writer.bytes, allowing: method)
        }
    }

    /// Any page may ask: the route reads no cookie, so a browser adds nothing to what the page knows itself.
    private func respond(_ status: UInt32, _ body: [UInt8] = [], allowing method: ByteString) -> HTTPResponse {
        let methods = ByteString(method.bytes + Array(", OPTIONS".utf8))
        var headers: [(name: ByteString, value: ByteString)] = [
            ("Access-Control-Allow-Origin", "*"), ("Access-Control-Allow-Methods", methods),
            ("Access-Control-Allow-Headers", "authorization, content-type"), ("Cache-Control", "no-store"),
        ]
        if !body.isEmpty { headers.append(("Content-Type", "application/json")) }
        if status == 204 { headers.append(("Access-Control-Max-Age", "600")) }
        if status == 405 { headers.append(("Allow", methods)) }
        if status == 401 { headers.append(("WWW-Authenticate", "Bearer")) }
        return HTTPResponse(status: status, headers: headers, body: body)
    }

    // MARK: answers

    /// A token or an error for each room of the request, and a connection token where one is asked for.
    ///
    /// Without one a user who is nobody connects anonymously.
    func tokens(
        _ body: [UInt8],
        authorization: ByteString?,
        at moment: Moment
    ) throws(DemoAuthFault) -> [UInt8] {
        let user = try user(authorization)
        let request = try DemoAuthRequest(body)
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "rooms")
            writer.object { writer in
                for room in request.rooms {
                    writer.key(room)
                    switch verdict(on: room, for: user) {
                    case .granted: grant(room, to: user, at: moment, into: &writer)
                    case .refused(let code):
                        writer.object {
                            $0.key(literal: "error")
                            $0.string(code)
                        }
                    }
                }
            }
            if request.wantsConnection, let user {
                writer.key(literal: "connection")
                writer.string(token(for: user, at: moment))
            }
        }
        return writer.bytes
    }

    /// What an app needs at its start: where the hub is, and the grants of the rooms that anybody may join.
    func config(
        host: ByteString?,
        authorization: ByteString?,
        at moment: Moment
    ) throws(DemoAuthFault) -> [UInt8] {
        let user = try user(authorization)
        guard let host, !host.isEmpty, host.bytes.allSatisfy(Self.isHostByte) else {
            throw .badRequest("no Host header that names this hub, write for example Host: 127.0.0.1:8000")
        }
        let url = { (scheme: String, path: ByteString) in
            ByteString(Array(scheme.utf8) + host.bytes + path.bytes)
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "url")
            writer.string(url("ws://", Hub.webSocketPath))
            writer.key(literal: "auth")
            writer.string(url("http://", settings.path))
            writer.key(literal: "grants")
            writer.object { writer in
                for room in registry.publicNames {
                    guard case .granted = verdict(on: room, for: user) else { continue }
                    writer.key(room)
                    grant(room, to: user, at: moment, into: &writer)
                }
            }
        }
        return writer.bytes
    }

    // MARK: rules

    /// Nil without a header; a header that is no user's is an error.
    private func user(_ authorization: ByteString?) throws(DemoAuthFault) -> User? {
        guard let authorization else { return nil }
        let scheme = ByteString("bearer ")
        guard HTTPRequest.lowercased(authorization).hasPrefix(scheme) else { throw .unauthorized }
        let bearer = authorization.bytes.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
        guard let user = settings.users.first(where: { $0.bearer.matches(bearer) }) else { throw .unauthorized }
        return user
    }

    private func verdict(on room: ByteString, for user: User?) -> Verdict {
        guard room.count <= HubSession.nameLimit else { return .refused("bad_request") }
        guard !room.isEmpty, let rule = registry.rule(for: room) else { return .refused("no_rule") }
        // As in a session, where a name that begins so is never public.
        let isPublic = rule.isPublic && room.bytes.first != UInt8(ascii: "$")
        if isPublic, rule.admitsAnonymous || user != nil { return .granted }
        let isAllowed = user?.rooms.contains { $0.matches(room) } ?? false
        return isAllowed ? .granted : .refused("forbidden")
    }

    // MARK: tokens

    private func grant(_ room: ByteString, to user: User?, at moment: Moment, into writer: inout JSONWriter) {
        writer.object {
            $0.key(literal: "token")
            $0.string(token(for: user, room: room, at: moment))
        }
    }

    /// A connection token, or that of a `room`.
    private func token(for user: User?, room: ByteString? = nil, at moment: Moment) -> ByteString {
        let life = settings.tokenLife.wholeMilliseconds / 1_000
        let (end, overflow) = moment.seconds.addingReportingOverflow(life)
        let token = key.sign { claims in
            if let user {
                claims.key(literal: "sub")
                claims.string(user.name)
            }
            if let room {
                claims.key(literal: "channel")
                claims.string(room)
            }
            claims.key(literal: "exp")
            claims.integer(overflow ? .max : end)
            claims.key(literal: "iat")
            claims.integer(moment.seconds)
        }
        return ByteString(token.bytes)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._:[]".utf8.contains(byte)
        }
    }
}
