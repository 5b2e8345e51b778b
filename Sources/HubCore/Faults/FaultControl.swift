internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// Where faults are asked for: `POST /faults/NAME` with a JSON object, and `GET /faults` to see what is there.
///
/// It takes no key, because it listens on loopback alone and only when it was asked to; pages in a browser, which reach
/// loopback too, are kept out. Belongs to the hub's loop.
final class FaultControl {
    private static let path = ByteString("/faults")

    static let settings = {
        var settings = HTTPServerSettings()
        settings.bodyLimit = 64 << 10
        return settings
    }()

    private unowned let hub: Hub

    init(_ hub: Hub) {
        self.hub = hub
    }

    func answer(_ request: HTTPRequest) -> HTTPResponse {
        guard request.header("origin") == nil else {
            return refuse(403, "forbidden", "a page in a browser may not ask for faults, use a program such as curl")
        }
        guard request.path != Self.path else {
            guard request.method == "GET" else { return refuse(405, "bad_request", "not that method, use GET") }
            return .json(FaultReport(hub).json)
        }
        let prefix = ByteString(Self.path.bytes + [UInt8(ascii: "/")])
        guard request.path.hasPrefix(prefix) else {
            return refuse(404, "not_found", "there is only GET /faults and POST /faults/NAME")
        }
        let text = ByteString(Array(request.path.bytes.dropFirst(prefix.count)))
        guard let name = FaultName(rawValue: text.string) else {
            let remedy =
                if let near = FaultName.nearest(to: text) { "did you mean \"\(near.rawValue)\"?" } else {
                    "the faults are \(FaultName.allCases.map(\.rawValue).joined(separator: ", "))"
                }
            return refuse(404, "not_found", "no fault is called \"\(text)\", \(remedy)")
        }
        guard request.method == "POST" else { return refuse(405, "bad_request", "not that method, use POST") }
        return perform(name, request.body)
    }

    private func perform(_ name: FaultName, _ body: [UInt8]) -> HTTPResponse {
        do {
            let document = try JSONDocument.parse(body.isEmpty ? Array("{}".utf8) : body)
            guard let fault = try FaultReader.read(name, document.root, on: hub) else {
                try hub.endFaults()
                return result(.none)
            }
            return result(try hub.perform(fault, at: SystemClock.now))
        } catch let error as JSONError {
            let place = "\(error.position.line):\(error.position.column)"
            return refuse(400, "bad_request", "\(place): \(error.what), \(error.remedy)")
        } catch let error as HubConfigurationError {
            return refuse(400, "bad_request", error.issues.map(\.description).joined(separator: "; "))
        } catch {
            return refuse(500, "failed", "\(error)")
        }
    }

    private func result(_ effect: FaultEffect) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "result")
            writer.object { effect.write(into: &$0) }
        }
        return .json(writer.bytes)
    }

    private func refuse(_ status: UInt32, _ error: String, _ message: String) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object {
            $0.key(literal: "error")
            $0.string(error)
            $0.key(literal: "message")
            $0.string(message)
        }
        return .json(writer.bytes, status: status)
    }
}

extension FaultEffect {
    fileprivate func write(into writer: inout JSONWriter) {
        switch self {
        case .none: break
        case .connections(let count):
            writer.key(literal: "connections")
            writer.integer(count)
        case .room(let room, let dropped):
            writer.key(literal: "members")
            writer.integer(room.members.count)
            if let position = room.history?.position {
                writer.key(literal: "offset")
                writer.integer(position.offset)
                writer.key(literal: "epoch")
                writer.string(position.epoch)
            }
            if let dropped {
                writer.key(literal: "dropped")
                writer.integer(dropped)
            }
        }
    }
}
