internal import RoomsRuntime
internal import RoomsWire

/// Makes what apps get of what the server sent: name and data out of the publication, sealed data opened.
final class EventReader: Sendable {
    private let common: KeyRing
    /// Those of rooms with keys by a grant.
    private let given: [ByteString: KeyRing]
    /// Those of rooms with keys of their own.
    private let rings: Lock<[ByteString: KeyRing]>

    init(_ settings: RealtimeSettings) {
        common = settings.keys
        var rings: [ByteString: KeyRing] = [:]
        for (room, keys) in settings.grantKeys {
            var ring = common
            for (kid, key) in keys { ring.give(key, as: kid) }
            rings[room] = ring
        }
        given = rings
        self.rings = Lock(rings)
    }

    /// Keys that came with a token of that room.
    func issue(_ keys: [ByteString: Secret], for room: ByteString) {
        guard !keys.isEmpty else { return }
        rings.withLock { rings in
            for (kid, key) in keys { rings[room, default: common].issue(key, as: kid) }
        }
    }

    /// The room was left: keys that were issued for it come again with its next token.
    func forget(_ room: ByteString) {
        rings.withLock { $0[room] = given[room] }
    }

    private func open(_ sealed: [UInt8], _ room: ByteString) throws(RoomError) -> [UInt8] {
        let ring = rings.withLock { $0[room] } ?? common
        do throws(SealedValue.Failure) {
            return try SealedValue.open(json: sealed, with: ring)
        } catch {
            throw RoomError(.sealed, error.explanation)
        }
    }

    func read(
        _ publication: Publication,
        _ position: RoomPosition?,
        _ isReplayed: Bool,
        _ receivedAt: Int64,
        _ room: ByteString
    ) throws(RoomError) -> RoomEvent {
        let bytes = publication.data.array
        let envelope = envelope(of: publication, bytes)
        let data = try data(envelope.content, of: bytes, room)
        let meta = meta(of: publication, position, isReplayed, envelope.at ?? receivedAt)
        return RoomEvent(event: envelope.name.string, data: data, meta: meta, bytes: bytes)
    }

    /// What is known of a publication, also of one that cannot be opened.
    func meta(of publication: Publication, _ position: RoomPosition?, _ isReplayed: Bool, _ at: Int64) -> EventMeta {
        EventMeta(
            from: publication.info.map { $0.user.string },
            id: position?.id ?? "",
            at: at,
            replayed: isReplayed
        )
    }

    private func envelope(of publication: Publication, _ bytes: [UInt8]) -> EventEnvelope {
        let tags = publication.tags
        return bytes.withUnsafeBytes { payload in
            EventEnvelope.read(
                payload: payload,
                tagEvent: tags.last { $0.key == "event" }?.value,
                tagAt: tags.last { $0.key == "at" }?.value
            )
        }
    }

    private func data(
        _ content: EventEnvelope.Content,
        of bytes: [UInt8],
        _ room: ByteString
    ) throws(RoomError) -> JSONValue {
        let json: [UInt8]
        switch content {
        case .json(let range): json = Array(bytes[range])
        case .sealed(let range): json = try open(Array(bytes[range]), room)
        case .binary: return JSONValue(data: bytes)
        }
        do throws(JSONSyntaxError) {
            return try JSONValue(json: json)
        } catch {
            // Nested deeper than is read here, or a sealed value that is not JSON.
            return JSONValue(data: json)
        }
    }
}

extension SealedValue.Failure {
    fileprivate var explanation: String {
        switch self {
        case .malformed: "what is sealed is no JWE compact string"
        case .unsupported: "it is sealed otherwise than with dir and A256GCM"
        case .noKey(let kid): "there is no key \(ByteString(Array(kid.bytes.prefix(64))))"
        case .notAuthentic: "it was sealed with another key, or changed on the way"
        }
    }
}
