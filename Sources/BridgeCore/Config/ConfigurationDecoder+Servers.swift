internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

extension ConfigurationDecoder {
    func server(_ entry: ConfigurationEntry) -> ServerConfiguration? {
        guard
            let object = entry.value.object(
                "an object such as {\"url\": \"wss://…/connection/websocket\"}",
                keys: ["url", "auth", "ca", "proxy", "name", "api"],
                later: ["rooms_per_connection"]
            )
        else { return nil }
        let example = "a text such as \"wss://realtime.example.com/connection/websocket\""
        let url = object.required("url", example).flatMap { self.url($0, [.ws, .wss], example) }
        let authentication = object["auth"].map { self.authentication($0) } ?? .anonymous
        let ca = object["ca"].flatMap { certificates($0) }
        let proxy = object["proxy"].flatMap { self.proxy($0) }
        let api = object["api"].flatMap { self.api($0) }
        let name = object["name"]?.text("a text that servers show as the client's name")
        guard let url, let authentication else { return nil }
        return ServerConfiguration(
            key: entry.name,
            url: url,
            authentication: authentication,
            ca: ca,
            proxy: proxy,
            api: api,
            clientName: name ?? ServerConfiguration.defaultClientName
        )
    }

    private func api(_ value: ConfigurationValue) -> ServerAPIConfiguration? {
        let example = "a text such as \"https://realtime.example.com/api\""
        guard
            let object = value.object(
                "an object such as {\"url\": \"https://realtime.example.com/api\", \"key\": {\"credential\": \"NAME\"}}",
                keys: ["url", "key", "insecure_http"]
            )
        else { return nil }
        let mayBePlain = object["insecure_http"]?.bool() ?? false
        let key = object.required("key", "a reference such as {\"credential\": \"NAME\"}").flatMap { secret($0) }
        guard let place = object.required("url", example), let url = url(place, [.http, .https], example) else {
            return nil
        }
        guard url.isSecure || mayBePlain || Self.isLoopback(url.host) else {
            place.reject(
                "sends the key unencrypted to another host (\(url.host)), must be https, or set \"insecure_http\": true"
            )
            return nil
        }
        guard !url.target.bytes.contains(UInt8(ascii: "?")) else {
            place.reject("has a query in it, must be \(example)")
            return nil
        }
        let slash = url.target.bytes.last == UInt8(ascii: "/") ? "" : "/"
        guard let key, let history = try? ServerURL(ByteString("\(url.text)\(slash)history")) else { return nil }
        return ServerAPIConfiguration(history: history, key: key)
    }

    private func authentication(_ value: ConfigurationValue) -> Authentication? {
        let wanted =
            "an object with \"token_secret\" and \"user\", or with \"tokens\"; leave \"auth\" out where all rooms are public"
        guard
            let object = value.object(
                wanted,
                keys: ["token_secret", "user", "subscription_secret", "tokens"],
                later: ["route", "headers"]
            )
        else { return nil }
        if let tokens = object["tokens"] {
            for key: ByteString in ["token_secret", "user", "subscription_secret"] {
                object[key]?.reject("has no place beside \"tokens\", take one of them out")
            }
            return self.tokens(tokens)
        }
        guard object["token_secret"] != nil || object["user"] != nil || object["subscription_secret"] != nil else {
            // An unknown key was reported; an empty object was not.
            if value.node.members?.isEmpty == true { value.reject("is empty, must be \(wanted)") }
            return nil
        }
        let secret = object.required("token_secret", "a reference such as {\"credential\": \"NAME\"}")
            .flatMap { self.secret($0) }
        let user = object.required("user", "a text: the user id of RoomBridge on that server")?
            .text("a text: the user id of RoomBridge on that server")
        let subscriptionSecret = object["subscription_secret"].map { self.secret($0) }
        guard let secret, let user else { return nil }
        return .signing(user: user, secret: secret, subscriptionSecret: subscriptionSecret ?? nil)
    }

    private func tokens(_ value: ConfigurationValue) -> Authentication? {
        guard
            let object = value.object(
                "an object such as {\"connection\": {\"file\": \"…\"}, \"rooms\": {}}",
                keys: ["connection", "rooms"]
            )
        else { return nil }
        if value.node.members?.isEmpty == true {
            value.reject("is empty, must have \"connection\", \"rooms\" or both")
        }
        let connection = object["connection"].flatMap { secret($0) }
        var rooms: [ByteString: SecretReference] = [:]
        for entry in object["rooms"]?.entries("an object of rooms and the references of their tokens") ?? [] {
            rooms[entry.name] = secret(entry.value)
        }
        return .tokens(connection: connection, rooms: rooms)
    }

    private func proxy(_ value: ConfigurationValue) -> ByteString? {
        let wanted = "a text such as \"http://proxy.example.com:3128\""
        guard let text = value.text(wanted) else { return nil }
        let schemes: [ByteString] = ["http://", "https://", "socks5://", "socks5h://"]
        guard schemes.contains(where: { text.hasPrefix($0) && text.count > $0.count }) else {
            value.reject("is \"\(text)\", must be \(wanted) (http, https, socks5 or socks5h)")
            return nil
        }
        guard !text.bytes.contains(UInt8(ascii: "@")) else {
            value.reject("has a user or a password in it, must be \(wanted)")
            return nil
        }
        return text
    }
}
