internal import BridgeDelivery
internal import BridgeModel
internal import RoomsRuntime
internal import RoomsTransport

/// What a good configuration makes RoomBridge do, for people.
package struct ConfigurationSummary: CustomStringConvertible {
    private let configuration: BridgeConfiguration

    package init(_ configuration: BridgeConfiguration) {
        self.configuration = configuration
    }

    package var description: String {
        var lines: [String] = []
        for (index, server) in configuration.servers.enumerated() {
            let count = configuration.rooms.count { $0.server == index }
            let rooms = count == 1 ? "1 room" : "\(count) rooms"
            let api = server.api == nil ? "" : ", history through its API where it has to be"
            lines.append("server \(server.key): \(server.url.address), \(server.authentication)\(api), \(rooms)")
        }
        for (index, endpoint) in configuration.endpoints.enumerated() {
            let isUsed = configuration.rooms.contains { $0.rules.contains { $0.endpoints.contains(index) } }
            lines.append("endpoint \(endpoint.name): \(endpoint.summary)" + (isUsed ? "" : ", but no room goes there"))
        }
        for room in configuration.rooms {
            let start = room.start == .now ? "from now" : "from the earliest event"
            let server = configuration.servers.count > 1 ? " of \(configuration.servers[room.server].key)" : ""
            for rule in room.rules {
                let names = rule.endpoints.map { configuration.endpoints[$0].name.description }
                let events = rule.events.map { $0.isEmpty ? ["no events"] : $0.map(\.description) } ?? ["all events"]
                let notices = RoomNotice.Kind.allCases.filter(rule.notices.contains).map { "room.\($0.rawValue)" }
                let what = (events + notices).joined(separator: ", ")
                lines.append("room \(room.name)\(server): \(what) -> \(names.joined(separator: ", ")), \(start)")
            }
        }
        lines.append("buffer: \(Quantity.text(ofSize: configuration.buffer.maxSize))")
        return lines.joined(separator: "\n")
    }
}

extension ServerURL {
    /// Without the query, which may hold what nobody should see.
    var address: String {
        let path = target.bytes.prefix { $0 != UInt8(ascii: "?") }
        return "\(scheme.rawValue)://\(hostField)\(ByteString(Array(path)))"
    }
}

extension Authentication: CustomStringConvertible {
    package var description: String {
        switch self {
        case .anonymous: "without a token"
        case .signing(let user, _, _): "with own tokens as user \(user)"
        case .tokens(_, let rooms): "with given tokens (\(rooms.count) of them for rooms)"
        }
    }
}

extension EndpointConfiguration {
    fileprivate var summary: String {
        let address =
            switch target {
            case .url(let url, _): url.address
            case .unix(let socket, let path): "\(socket) (HTTP over a Unix socket, \(path))"
            case .stream(let socket, let word): "\(socket) (lines on a Unix socket, ack \(word.rawValue))"
            }
        if case .stream = target { return "\(address), at most \(concurrency) lines in flight" }
        let now = SystemClock.wallMilliseconds
        let ended = signing.count { $0.until.map { $0 <= now } ?? false }
        let count = signing.count - ended
        let signature =
            (count == 0 ? "unsigned" : count == 1 ? "signed" : "signed \(count) times")
            + (ended == 0 ? "" : " (\(ended) more \(ended == 1 ? "secret has" : "secrets have") ended)")
        return "\(address), \(signature)\(identification), at most \(concurrency) requests at once\(loss)"
    }

    private var identification: String {
        let names = headers.map { $0.isBearer ? "a bearer token" : $0.name.description }
        return (names.isEmpty ? "" : ", with \(names.joined(separator: ", "))")
            + (identity == nil ? "" : ", with a client certificate")
    }

    private var loss: String {
        (lossRule.onOverflow ? ", loses its oldest when the buffer is full" : "")
            + (lossRule.maxAge.map { ", loses what waits longer than \($0.wholeMilliseconds / 1_000) s" } ?? "")
    }
}

extension EventFilter: CustomStringConvertible {
    package var description: String {
        switch self {
        case .exact(let name): name.description
        case .prefix(let prefix): "\(prefix)*"
        }
    }
}
