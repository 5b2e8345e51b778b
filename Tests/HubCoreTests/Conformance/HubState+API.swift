import RoomsRuntime
import RoomsWire

@testable import HubCore
@testable import LocalHTTP

extension HubState {
    /// The body of the answer to a call of the server API, without a socket.
    func call(_ method: String, _ body: String, at moment: Moment = Conversation.start) -> String {
        let api = ServerAPI(self, key: Secret("k")) {
            NodeFacts(id: "", clients: 0, users: 0, subscriptions: 0, rooms: 0, uptime: .zero)
        }
        let request = HTTPRequest(
            method: "POST",
            path: ByteString("/api/\(method)"),
            headers: [("x-api-key", "k")],
            body: Array(body.utf8)
        )
        guard case .body(let bytes) = api.answer(request, at: moment).kind else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// What comes of a declaration; `{"result":{}}` when it is taken.
    func declare(_ app: String, _ rooms: String, at moment: Moment = Conversation.start) -> String {
        call("declare_rooms", #"{"app":"\#(app)","rooms":\#(rooms)}"#, at: moment)
    }
}
