internal import RoomsRuntime
internal import RoomsWire

/// Why a request is not done.
enum APIFault: Error {
    /// Not what the method takes: status 400.
    case malformed
    case refused(HubError)

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

    /// Nil unless `node` is an object.
    init?(_ node: JSONNode, text: [UInt8]) {
        guard node.members != nil else { return nil }
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

    func channels() throws(APIFault) -> [ByteString] {
        guard let list = self["channels"] else { throw .refused(.badRequest) }
        guard let elements = list.elements else { throw .malformed }
        var names: [ByteString] = []
        for element in elements {
            guard let name = element.string else { throw .malformed }
            names.append(name)
        }
        guard !names.isEmpty, !names.contains(.empty) else { throw .refused(.badRequest) }
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
        if let limit = self["limit"] {
            guard let number: Int32 = limit.integer() else { throw .malformed }
            query.limit = number < 0 ? .max : Int(number)
        }
        if let since = self["since"] {
            guard let position = APIRequest(since, text: text) else { throw .malformed }
            query.since = StreamPosition(offset: 0, epoch: try position.string("epoch"))
            if let offset = position["offset"] {
                guard let number: UInt64 = offset.integer() else { throw .malformed }
                query.since?.offset = number
            }
        }
        return query
    }

    private func string(_ key: ByteString) throws(APIFault) -> ByteString {
        guard let node = self[key] else { return .empty }
        guard let string = node.string else { throw .malformed }
        return string
    }

    private func flag(_ key: ByteString) throws(APIFault) -> Bool {
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

    // MARK: writing

    /// The members of a publication in a history; data that is not JSON goes out as `b64data`.
    static func write(_ publication: Publication, into writer: inout JSONWriter) {
        publication.data.withBytes { data in
            if JSONScanner.isValid(data) {
                writer.key(literal: "data")
                writer.raw(data)
            } else {
                writer.key(literal: "b64data")
                writer.string(ByteString(Base64.encode(data)))
            }
        }
        writer.key(literal: "offset")
        writer.integer(publication.offset)
        if !publication.tags.isEmpty {
            writer.key(literal: "tags")
            writer.object { writer in
                for tag in publication.tags {
                    writer.key(tag.key)
                    writer.string(tag.value)
                }
            }
        }
        guard let info = publication.info else { return }
        writer.key(literal: "info")
        writer.object { writer in
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
}

struct HistoryQuery {
    var since: StreamPosition?
    var limit: Int
    var isReverse: Bool
}
