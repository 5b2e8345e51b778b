import RoomsRuntime
import RoomsWire

/// Messages with every field of the schema set, and their bytes.
///
/// The bytes were made from the schema's field numbers alone, by another program.
enum Samples {
    static let replies: [(String, Reply)] = [
        (
            "00",
            .ping
        ),
        (
            "130801120f08ffffffff0f12056c696d69741801",
            Reply(id: 1, .error(ErrorReply(code: .max, message: "limit", isTemporary: true)))
        ),
        (
            "4522431204726f6f6d223b22027b7d2a120a01751201631a077b2261223a317d22013730073a050a016b12003a050a00"
                + "120176400148ffffffffffffffffff01520177720165",
            Reply(id: 0, .push(Push(channel: "room", .publication(publication))))
        ),
        (
            "1e221c1204726f6f6d2a140a120a01751201631a077b2261223a317d220137",
            Reply(id: 0, .push(Push(channel: "room", .join(info))))
        ),
        (
            "1e221c1204726f6f6d32140a120a01751201631a077b2261223a317d220137",
            Reply(id: 0, .push(Push(channel: "room", .leave(info))))
        ),
        (
            "1222101204726f6f6d3a0810c4131a03776879",
            Reply(id: 0, .push(Push(channel: "room", .unsubscribe(code: 2500, reason: "why"))))
        ),
        (
            "08220642040a027b7d",
            Reply(id: 0, .push(Push(channel: "", .message(data: Array("{}".utf8)))))
        ),
        (
            "1622141204726f6f6d4a0c0801220165280930013a0131",
            Reply(id: 0, .push(Push(channel: "room", .subscribe(subscribePush))))
        ),
        (
            "34223252300a01631201761801203c2a013132050a0161120032070a016212021801381940014a017352016e5880d095"
                + "ffbc316001",
            Reply(id: 0, .push(Push(channel: "", .connect(connectResult))))
        ),
        (
            "0e220c5a0a08b91712037768791801",
            Reply(id: 0, .push(Push(channel: "", .disconnect(code: 3001, reason: "why", reconnect: true))))
        ),
        (
            "08220662040801103c",
            Reply(id: 0, .push(Push(channel: "", .refresh(expires: true, ttl: 60))))
        ),
        (
            "09220708052203220131",
            Reply(id: 0, .push(compactPush))
        ),
        (
            "3408012a300a01631201761801203c2a013132050a0161120032070a016212021801381940014a017352016e5880d095"
                + "ffbc316001",
            Reply(id: 1, .connect(connectResult))
        ),
        (
            "7c08ffffffff0f32740801103c18013201653a3b22027b7d2a120a01751201631a077b2261223a317d22013730073a05"
                + "0a016b12003a050a00120176400148ffffffffffffffffff015201777201653a00400148ffffffffffffffffff015001"
                + "5a01316001680170feffffffffffffffff0178fdffffffffffffffff01",
            Reply(id: .max, .subscribe(subscribeResult))
        ),
        (
            "0408033a00",
            Reply(id: 3, .unsubscribe)
        ),
        (
            "0408034200",
            Reply(id: 3, .publish)
        ),
        (
            "2608034a220a180a02633112120a01751201631a077b2261223a317d2201370a060a0263321200",
            Reply(id: 3, .presence(clients: presence))
        ),
        (
            "0908035205080510ac02",
            Reply(id: 3, .presenceStats(clients: 5, users: 300))
        ),
        (
            "4608035a420a3b22027b7d2a120a01751201631a077b2261223a317d22013730073a050a016b12003a050a0012017640"
                + "0148ffffffffffffffffff015201777201651201651807",
            Reply(id: 3, .history(historyResult))
        ),
        (
            "0808036a040a027b7d",
            Reply(id: 3, .rpc(data: Array("{}".utf8)))
        ),
        (
            "0e0803720a0a01631201761801203c",
            Reply(id: 3, .refresh(refreshResult))
        ),
        (
            "0808037a040801103c",
            Reply(id: 3, .subRefresh(subRefreshResult))
        ),
    ]

    static let commands: [(String, Command)] = [
        (
            "00",
            .pong
        ),
        (
            "2e0801222a0a017412027b7d1a0c0a01611207180132016538031a050a0162120022016e2a017632060a0168120178",
            Command(id: 1, .connect(connectRequest))
        ),
        (
            "2608022a220a0161120174180132016538ac0242013148015001580170ffffffffffffffffff01",
            Command(id: 2, .subscribe(subscribeRequest))
        ),
        (
            "07080332030a0161",
            Command(id: 3, .unsubscribe(channel: "a"))
        ),
        (
            "0b08033a070a016112023132",
            Command(id: 3, .publish(channel: "a", data: Array("12".utf8)))
        ),
        (
            "07080342030a0161",
            Command(id: 3, .presence(channel: "a"))
        ),
        (
            "0708034a030a0161",
            Command(id: 3, .presenceStats(channel: "a"))
        ),
        (
            "1b080352170a016138ffffffffffffffffff01420508051201654801",
            Command(id: 3, .history(historyRequest))
        ),
        (
            "09080352050a01614200",
            Command(id: 3, .history(positionRequest))
        ),
        (
            "0408035a00",
            Command(id: 3, .ping)
        ),
        (
            "0662040a027b7d",
            Command(id: 0, .send(data: Array("{}".utf8)))
        ),
        (
            "0b08036a070a027b7d12016d",
            Command(id: 3, .rpc(method: "m", data: Array("{}".utf8)))
        ),
        (
            "07080372030a0174",
            Command(id: 3, .refresh(token: "t"))
        ),
        (
            "0a08037a060a0161120174",
            Command(id: 3, .subRefresh(channel: "a", token: "t"))
        ),
    ]

    /// Fields that no schema here has: one of each wire type, groups in groups, the highest number.
    static let unknowns: [String] = [
        "a00601", "a006ffffffffffffffffff01", "a1060102030405060708", "a20603616263", "a20600", "a50601020304",
        "a306a406", "a3060801ab061200ac06a106ffffffffffffffffa406", "f8ffffff0f01",
        String(repeating: "a306", count: 64) + String(repeating: "a406", count: 64),
    ]

    static let broken: [(String, WireError.Code, Int)] = [
        ("", .emptyFrame, 0),
        // lengths of messages
        ("80", .cutOff, 1), ("05", .lengthBeyondEnd, 1), ("0508", .lengthBeyondEnd, 1), ("0005", .lengthBeyondEnd, 2),
        ("ffffffffffffffffffff01", .varintTooLong, 9), ("80808080808080808080", .varintTooLong, 9),
        ("ffffffffffffffffff02", .varintTooLong, 9), ("ffffffffffffffffff01", .lengthBeyondEnd, 10),
        ("ffffffffffffffff7f00", .lengthBeyondEnd, 9),
        // numbers and lengths in messages
        ("0108", .cutOff, 2), ("020880", .cutOff, 3), ("0b08ffffffffffffffffff7f", .varintTooLong, 11),
        ("022205", .lengthBeyondEnd, 3), ("0422021205056f72646572", .lengthBeyondEnd, 5),
        ("0c22ffffffffffffffffff0100", .lengthBeyondEnd, 12),
        // wire types: known fields, fields of a push and of a publication
        ("020a00", .wrongWireType, 2), ("021001", .wrongWireType, 2), ("051500000000", .wrongWireType, 2),
        ("010e", .wrongWireType, 2), ("0422021000", .wrongWireType, 4), ("06220422023200", .wrongWireType, 6),
        // fields that do not exist
        ("020001", .badField, 2), ("02a606", .badField, 3), ("02a706", .badField, 3), ("058080808010", .badField, 6),
        // what is gone over is still checked
        ("05a106000000", .cutOff, 3), ("04a5060000", .cutOff, 3), ("03a20605", .lengthBeyondEnd, 4),
        ("03a00680", .cutOff, 4),
        // groups
        ("02a406", .badGroup, 3), ("02a306", .badGroup, 3), ("04a306ac06", .badGroup, 5), ("03a30608", .cutOff, 4),
        ("05a306a306a0", .cutOff, 6),
        ("8402" + String(repeating: "a306", count: 65) + String(repeating: "a406", count: 65), .badGroup, 132),
    ]

    static func hex(_ text: String) -> [UInt8] { bytes(hex: text) ?? [] }

    static let info: ClientInfo = {
        var info = ClientInfo(user: "u", client: "c")
        info.connInfo = Array(#"{"a":1}"#.utf8)
        info.chanInfo = Array("7".utf8)
        return info
    }()

    static let publication: Publication = {
        let tags = [Tag(key: "k", value: ""), Tag(key: "", value: "v")]
        var publication = Publication(data: Payload("{}"), offset: 7, epoch: "e", info: info, tags: tags)
        publication.delta = true
        publication.time = -1
        publication.channel = "w"
        return publication
    }()

    private static let compactPush: Push = {
        var push = Push(channel: "", .publication(Publication(data: Payload("1"))))
        push.id = 5
        return push
    }()

    private static let subscribePush: SubscribePush = {
        var push = SubscribePush()
        push.recoverable = true
        push.epoch = "e"
        push.offset = 9
        push.positioned = true
        push.data = Array("1".utf8)
        return push
    }()

    private static let connectResult: ConnectResult = {
        var joined = SubscribeResult()
        joined.recoverable = true
        var result = ConnectResult()
        result.client = "c"
        result.version = "v"
        result.expires = true
        result.ttl = 60
        result.data = Array("1".utf8)
        result.subs = [
            NamedSubscribeResult(channel: "a", result: SubscribeResult()),
            NamedSubscribeResult(channel: "b", result: joined),
        ]
        result.ping = 25
        result.pong = true
        result.session = "s"
        result.node = "n"
        result.time = 1_700_000_000_000
        result.flag = 1
        return result
    }()

    private static let subscribeResult: SubscribeResult = {
        var result = SubscribeResult()
        result.expires = true
        result.ttl = 60
        result.recoverable = true
        result.epoch = "e"
        result.publications = [publication, Publication(data: .empty)]
        result.recovered = true
        result.offset = .max
        result.positioned = true
        result.data = Array("1".utf8)
        result.wasRecovering = true
        result.delta = true
        result.id = -2
        result.type = -3
        return result
    }()

    private static let historyResult: HistoryResult = {
        var result = HistoryResult()
        result.publications = [publication]
        result.epoch = "e"
        result.offset = 7
        return result
    }()

    private static let refreshResult: RefreshResult = {
        var result = subRefreshResult
        result.client = "c"
        result.version = "v"
        return result
    }()

    private static let subRefreshResult: RefreshResult = {
        var result = RefreshResult()
        result.expires = true
        result.ttl = 60
        return result
    }()

    private static let presence = [
        PresenceEntry(key: "c1", info: info),
        PresenceEntry(key: "c2", info: ClientInfo(user: "", client: "")),
    ]

    private static let connectRequest: ConnectRequest = {
        var known = SubscribeRequest()
        known.recover = true
        known.epoch = "e"
        known.offset = 3
        var request = ConnectRequest()
        request.token = "t"
        request.data = Array("{}".utf8)
        request.subs = [
            NamedSubscribeRequest(channel: "a", request: known),
            NamedSubscribeRequest(channel: "b", request: SubscribeRequest()),
        ]
        request.name = "n"
        request.version = "v"
        request.headers = [Tag(key: "h", value: "x")]
        return request
    }()

    private static let subscribeRequest: SubscribeRequest = {
        var request = SubscribeRequest()
        request.channel = "a"
        request.token = "t"
        request.recover = true
        request.epoch = "e"
        request.offset = 300
        request.data = Array("1".utf8)
        request.positioned = true
        request.recoverable = true
        request.joinLeave = true
        request.flag = -1
        return request
    }()

    private static let historyRequest: HistoryRequest = {
        var request = positionRequest
        request.limit = -1
        request.since = StreamPosition(offset: 5, epoch: "e")
        request.reverse = true
        return request
    }()

    private static let positionRequest: HistoryRequest = {
        var request = HistoryRequest()
        request.channel = "a"
        request.since = StreamPosition(offset: 0, epoch: "")
        return request
    }()
}
