internal import RoomsRuntime
internal import RoomsWire

/// Why a request is not done.
enum APIFault: Error {
    /// Not what the method takes: status 400.
    case malformed
    case refused(HubError)

    /// Refused for a reason that is worth more words than the code has.
    static func refused(_ error: HubError, because reason: String) -> APIFault {
        .refused(HubError(error.code, ByteString("\(error.message): \(reason)")))
    }

    /// What is said where there is no status.
    var answer: HubError {
        switch self {
        case .malformed: .badRequest
        case .refused(let error): error
        }
    }
}

/// The members of one API call, read as its method needs them.
struct APIRequest {
    private let node: JSONNode
    /// The whole text that `node` is a part of.
    private let text: [UInt8]

    /// Nil unless `node` is an object, or null, which stands for an empty one.
    init?(_ node: JSONNode, text: [UInt8]) {
        guard node.members != nil || node.isNull else { return nil }
        self.node = node
        self.text = text
    }

    /// Nil for a member that is absent or null.
    subscript(_ key: ByteString) -> JSONNode? {
        guard let value = node[key], !value.isNull else { return nil }
        return value
    }

    func channel() throws(APIFault) -> ByteString {
        let name = try string("channel")
        guard !name.isEmpty else { throw .refused(.badRequest) }
        return name
    }

    func object(_ key: ByteString) throws(APIFault) -> APIRequest? {
        guard let value = self[key] else { return nil }
        guard let object = APIRequest(value, text: text) else { throw .malformed }
        return object
    }

    func channels() throws(APIFault) -> [ByteString] {
        let names = try strings("channels")
        guard !names.isEmpty else { throw .refused(.badRequest) }
        return names
    }

    /// The data byte for byte as it stands in the request, or the bytes that `b64data` stands for.
    func publication() throws(APIFault) -> Publication {
        let encoded = try string("b64data")
        let data: Payload
        if !encoded.isEmpty {
            guard let bytes = Base64.decode(encoded.bytes) else { throw .refused(.badRequest) }
            data = Payload(bytes)
        } else {
            // `null` is data like any other.
            guard let range = node["data"]?.range else { throw .refused(.badRequest) }
            data = text.withUnsafeBytes { Payload(copying: UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
        return Publication(data: data, tags: try tags())
    }

    /// How often it may be sent, it is published once; empty: each time.
    func publicationKey() throws(APIFault) -> ByteString {
        try string("idempotency_key")
    }

    func isKept() throws(APIFault) -> Bool {
        !(try flag("skip_history"))
    }

    func historyQuery() throws(APIFault) -> HistoryQuery {
        var query = HistoryQuery(limit: 0, isReverse: try flag("reverse"))
        if let limit: Int32 = try number("limit") { query.limit = limit < 0 ? .max : Int(limit) }
        if let since = try object("since") {
            query.since = StreamPosition(offset: try since.number("offset") ?? 0, epoch: try since.string("epoch"))
        }
        return query
    }

    /// Whom a call is about.
    func sessions(in directory: SessionDirectory) throws(APIFault) -> [HubSession] {
        let found = directory.sessions(of: try string("user"), client: try string("client"))
        // Connections over WebSocket have no such thing as a session.
        return try string("session").isEmpty ? found : []
    }

    /// What `subscribe` puts the connections into.
    func subscription() throws(APIFault) -> ServerSubscription {
        var subscription = ServerSubscription(channel: try channel())
        subscription.info = try embedded("info", "b64info")
        subscription.data = try embedded("data", "b64data")
        if let expiry: Int64 = try number("expire_at"), expiry > 0 { subscription.expiry = expiry }
        if let since = try object("recover_since") {
            subscription.recoverSince = StreamPosition(
                offset: try since.number("offset") ?? 0,
                epoch: try since.string("epoch")
            )
        }
        guard let override = try object("override") else { return subscription }
        subscription.override.presence = try override.value("presence")
        subscription.override.joinLeave = try override.value("join_leave")
        subscription.override.pushedJoinLeave = try override.value("force_push_join_leave")
        subscription.override.position = try override.value("force_positioning")
        subscription.override.recovery = try override.value("force_recovery")
        return subscription
    }

    /// The flag of an `override`, which stands in an object of its own.
    private func value(_ key: ByteString) throws(APIFault) -> Bool? {
        try object(key)?.flag("value")
    }

    /// JSON as it stands in the request, or the bytes that base64 stands for.
    private func embedded(_ plain: ByteString, _ encoded: ByteString) throws(APIFault) -> [UInt8] {
        let text = try string(encoded)
        guard !text.isEmpty else { return self[plain]?.raw ?? [] }
        guard let bytes = Base64.decode(text.bytes) else { throw .refused(.badRequest) }
        return bytes
    }

    func number<Value: FixedWidthInteger>(_ key: ByteString) throws(APIFault) -> Value? {
        guard let node = self[key] else { return nil }
        guard let number: Value = node.integer() else { throw .malformed }
        return number
    }

    func strings(_ key: ByteString) throws(APIFault) -> [ByteString] {
        guard let node = self[key] else { return [] }
        guard let elements = node.elements else { throw .malformed }
        var strings: [ByteString] = []
        for element in elements {
            guard let string = element.string else { throw .malformed }
            strings.append(string)
        }
        return strings
    }

    func string(_ key: ByteString) throws(APIFault) -> ByteString {
        guard let node = self[key] else { return .empty }
        guard let string = node.string else { throw .malformed }
        return string
    }

    func flag(_ key: ByteString) throws(APIFault) -> Bool {
        guard let node = self[key] else { return false }
        guard let value = node.bool else { throw .malformed }
        return value
    }

    private func tags() throws(APIFault) -> [Tag] {
        guard let node = self["tags"] else { return [] }
        guard let members = node.members else { throw .malformed }
        var tags: [Tag] = []
        for member in members {
            guard let value = member.value.string else { throw .malformed }
            tags.append(Tag(key: member.key, value: value))
        }
        return tags
    }
}

struct HistoryQuery {
    var since: StreamPosition?
    var limit: Int
    var isReverse: Bool
}
