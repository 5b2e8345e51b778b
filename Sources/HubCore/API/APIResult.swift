internal import RoomsRuntime
internal import RoomsWire

/// What a method of the server API gives back, and how that is written.
enum APIResult {
    case empty
    case published(StreamPosition?)
    case broadcast([Result<StreamPosition?, HubError>])
    case history(HistoryResult)
    case presence([ClientInfo])
    case presenceStats(clients: Int, users: Int)
    case channels([(name: ByteString, clients: Int)])
    case node(NodeFacts)

    /// Writes the object that stands behind `result`.
    func write(into writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .empty: break
            case .published(let position): Self.write(position, into: &writer)
            case .broadcast(let results):
                writer.key(literal: "responses")
                writer.array { writer in
                    for result in results {
                        writer.object { writer in
                            switch result {
                            case .success(let position):
                                writer.key(literal: "result")
                                writer.object { Self.write(position, into: &$0) }
                            case .failure(let error): Self.write(error, into: &writer)
                            }
                        }
                    }
                }
            case .history(let history): Self.write(history, into: &writer)
            case .presence(let clients):
                writer.key(literal: "presence")
                writer.object { writer in
                    for info in clients {
                        writer.key(info.client)
                        writer.object { Self.write(info, into: &$0) }
                    }
                }
            case .presenceStats(let clients, let users):
                writer.key(literal: "num_clients")
                writer.integer(clients)
                writer.key(literal: "num_users")
                writer.integer(users)
            case .channels(let channels):
                writer.key(literal: "channels")
                writer.object { writer in
                    for channel in channels {
                        writer.key(channel.name)
                        writer.object { writer in
                            writer.key(literal: "num_clients")
                            writer.integer(channel.clients)
                        }
                    }
                }
            case .node(let facts):
                writer.key(literal: "nodes")
                writer.array { facts.write(into: &$0) }
            }
        }
    }

    /// Writes the member `error`.
    static func write(_ error: HubError, into writer: inout JSONWriter) {
        writer.key(literal: "error")
        writer.object { error.write(into: &$0) }
    }

    private static func write(_ position: StreamPosition?, into writer: inout JSONWriter) {
        guard let position else { return }
        writer.key(literal: "offset")
        writer.integer(position.offset)
        writer.key(literal: "epoch")
        writer.string(position.epoch)
    }

    private static func write(_ history: HistoryResult, into writer: inout JSONWriter) {
        writer.key(literal: "publications")
        writer.array { writer in
            for publication in history.publications {
                writer.object { write(publication, into: &$0) }
            }
        }
        writer.key(literal: "epoch")
        writer.string(history.epoch)
        writer.key(literal: "offset")
        writer.integer(history.offset)
    }

    /// Data that is not JSON goes out as `b64data`.
    private static func write(_ publication: Publication, into writer: inout JSONWriter) {
        publication.data.withBytes { data in
            if JSONScanner.isValid(data) {
                writer.key(literal: "data")
                writer.raw(data)
            } else {
                writer.key(literal: "b64data")
                writer.string(ByteString(Base64.encode(data)))
            }
        }
        if let info = publication.info {
            writer.key(literal: "info")
            writer.object { write(info, into: &$0) }
        }
        writer.key(literal: "offset")
        writer.integer(publication.offset)
        guard !publication.tags.isEmpty else { return }
        writer.key(literal: "tags")
        writer.object { writer in
            for tag in publication.tags {
                writer.key(tag.key)
                writer.string(tag.value)
            }
        }
    }

    private static func write(_ info: ClientInfo, into writer: inout JSONWriter) {
        writer.key(literal: "user")
        writer.string(info.user)
        writer.key(literal: "client")
        writer.string(info.client)
        for (key, json) in [("conn_info", info.connInfo), ("chan_info", info.chanInfo)] as [(ByteString, [UInt8])]
        where !json.isEmpty && json.withUnsafeBytes(JSONScanner.isValid) {
            writer.key(key)
            writer.raw(json)
        }
    }
}

extension HubError {
    /// Writes the members of the error.
    func write(into writer: inout JSONWriter) {
        writer.key(literal: "code")
        writer.integer(code)
        writer.key(literal: "message")
        writer.string(message)
    }

    /// The HTTP status that stands for it where the caller wants one.
    var status: UInt32 {
        switch code {
        case 102, 104: 404
        case 107, 108: 400
        case 112: 416
        case 113: 409
        default: 500
        }
    }
}

/// What `info` tells of the one node there is.
struct NodeFacts {
    let id: ByteString
    let clients: Int
    let users: Int
    let subscriptions: Int
    let rooms: Int
    let uptime: Duration

    func write(into writer: inout JSONWriter) {
        writer.object { writer in
            writer.key(literal: "uid")
            writer.string(id)
            writer.key(literal: "name")
            writer.string("roomhub")
            writer.key(literal: "version")
            writer.string(HubVersion.text)
            let numbers: [(ByteString, Int)] = [
                ("num_clients", clients), ("num_users", users), ("num_channels", rooms),
                ("uptime", Int(uptime.wholeMilliseconds / 1_000)),
            ]
            for (key, number) in numbers {
                writer.key(key)
                writer.integer(number)
            }
            // There is nothing to measure here, but clients look for it.
            writer.key(literal: "metrics")
            writer.object { writer in
                writer.key(literal: "interval")
                writer.integer(60)
                writer.key(literal: "items")
                writer.object { _ in }
            }
            writer.key(literal: "num_subs")
            writer.integer(subscriptions)
        }
    }
}
