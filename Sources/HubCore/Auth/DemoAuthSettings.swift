package import RoomsRuntime

/// Where the demo auth route is, whom it knows, and what they may join.
package struct DemoAuthSettings: Sendable {
    package struct User: Sendable {
        package var name: ByteString
        /// Who presents it in `Authorization: Bearer …` is this user.
        package var bearer: Secret
        /// The rooms that are not public.
        package var rooms: [RoomPattern]

        /// Without a `bearer` the name is one.
        package init(name: ByteString, bearer: Secret? = nil, rooms: [RoomPattern]) {
            self.name = name
            self.bearer = bearer ?? Secret(name.bytes)
            self.rooms = rooms
        }

        /// May join all orders and their own chats.
        fileprivate init(demo name: String) {
            let chats = ["chat:\(name):{x}", "chat:{x}:\(name)"].map { RoomPattern(stringLiteral: $0) }
            self.init(name: ByteString(name), rooms: ["order:{id}"] + chats)
        }
    }

    package var path = ByteString("/auth")
    /// How long a token is good.
    package var tokenLife = Duration.seconds(3_600)
    package var users: [User]

    package init(users: [User]) {
        self.users = users
    }

    package static let standard = DemoAuthSettings(users: [User(demo: "alice"), User(demo: "bob")])
}
