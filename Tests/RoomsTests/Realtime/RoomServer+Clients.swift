import BridgeTestSupport

import Rooms

extension RoomServer {
    /// A client that is `user` by a token that it was given, or nobody.
    func client(
        _ user: String? = nil,
        over link: MovableLink? = nil,
        _ change: (inout RealtimeOptions) -> Void = { _ in }
    ) throws -> Realtime {
        var options = RealtimeOptions()
        if let user { options.token = Self.token(user) }
        change(&options)
        let linked = link.map { "ws://127.0.0.1:\($0.port)/connection/websocket" }
        return try Realtime(url: linked ?? url, options: options)
    }

    /// A client that asks the auth route, which knows it as `user` or does not know it.
    func app(_ user: String? = nil, _ change: (inout RealtimeOptions) -> Void = { _ in }) throws -> Realtime {
        try client { options in
            options.auth = authURL
            if let user { options.headers = { ["Authorization": "Bearer \(user)"] } }
            change(&options)
        }
    }
}
