internal import BridgeModel
internal import Rooms
internal import RoomsRuntime
internal import RoomsWire

/// What notices say, in the words of the Rooms library.
extension RoomNotice {
    static var joined: [UInt8] { state("joined") { _ in } }

    /// By the protocol's code: not joined and tried again only after a long pause, or removed by the server.
    static func failed(_ code: UInt32, _ reason: ByteString) -> [UInt8] {
        let error = RoomError(protocolCode: code, reason: reason)
        return state(error.code == .kicked ? "kicked" : "failed") { writer in
            writer.key(literal: "code")
            writer.string(error.code.rawValue)
            writer.key(literal: "message")
            writer.string(error.message)
        }
    }

    static func count(_ users: UInt32) -> [UInt8] {
        text { writer in
            writer.key(literal: "n")
            writer.integer(users)
        }
    }

    static func member(_ info: ClientInfo, isHere: Bool) -> [UInt8] {
        text { writer in
            writer.key(literal: "event")
            writer.string(isHere ? "join" : "leave")
            writer.key(literal: "user")
            if info.user.isEmpty { writer.null() } else { writer.string(info.user) }
            writer.key(literal: "client")
            writer.string(info.client)
            let json = info.connInfo.isEmpty ? info.chanInfo : info.connInfo
            guard !json.isEmpty, (try? JSONDocument.parse(json)) != nil else { return }
            writer.key(literal: "info")
            // Line ends cannot stand inside strings, so all of them are white space.
            writer.raw(json.filter { $0 != 0x0a && $0 != 0x0d })
        }
    }

    private static func state(_ word: String, _ more: (inout JSONWriter) -> Void) -> [UInt8] {
        text { writer in
            writer.key(literal: "state")
            writer.string(word)
            more(&writer)
        }
    }

    private static func text(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var writer = JSONWriter()
        writer.object(members)
        return writer.bytes
    }
}
