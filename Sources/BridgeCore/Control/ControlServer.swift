internal import Glibc
internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// What operators' commands reach: HTTP with JSON on a Unix socket, everything under `/v1/`.
///
/// Belongs to its loop.
final class ControlServer {
    struct Route {
        let method: ByteString
        let path: ByteString
        let answer: (HTTPRequest) -> HTTPResponse
    }

    private let server: HTTPServer
    /// The socket's file, when this process made it.
    private let path: String?

    /// A request whose path begins like a route's and ends with `/` and something more is the route's, too, when its own
    /// ends with `/`.
    init(loop: EventLoop, path: String?, routes: [Route]) {
        self.path = path
        var settings = HTTPServerSettings()
        settings.bodyLimit = 1 << 20
        settings.connectionLimit = 32
        server = HTTPServer(loop: loop, settings: settings) { Self.answer($0, routes) }
    }

    func start(_ listener: UnixListener) throws(ListenError) {
        try server.start(listener)
    }

    /// Requests that are under way are answered with 503.
    func stop() {
        guard !server.isStopped else { return }
        server.stop()
        if let path { unlink(path) }
    }

    private static func answer(_ request: HTTPRequest, _ routes: [Route]) -> HTTPResponse {
        let fitting = routes.filter { route in
            route.path == request.path
                || (route.path.bytes.last == UInt8(ascii: "/") && request.path.hasPrefix(route.path))
        }
        if let route = fitting.first(where: { $0.method == request.method }) { return route.answer(request) }
        if fitting.isEmpty { return failure("there is no \(request.path)", status: 404) }
        let methods = fitting.map(\.method.description).joined(separator: " or ")
        return failure("\(request.path) takes \(methods), not \(request.method)", status: 405)
    }

    /// What is wrong and what would be right, as an answer.
    static func failure(_ message: String, status: UInt32 = 400) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "error")
            writer.string(message)
        }
        return .json(writer.bytes, status: status)
    }
}
