import RoomsRuntime
import RoomsWire

/// Puts our names into replies, and maps, which have no order, into one.
struct ReplyAccount {
    private(set) var ttls: [Int64] = []
    var naming: Naming

    init(_ naming: Naming) {
        self.naming = naming
    }

    mutating func named(_ reply: Reply) -> Reply {
        var reply = reply
        switch reply.body {
        case .connect(let result): reply.body = .connect(named(result))
        case .subscribe(let result): reply.body = .subscribe(named(result))
        case .presence(let clients): reply.body = .presence(clients: named(clients))
        case .history(var result):
            result.publications = named(result.publications)
            result.epoch = epoch(result.epoch)
            reply.body = .history(result)
        case .refresh(let result): reply.body = .refresh(named(result))
        case .subRefresh(let result): reply.body = .subRefresh(named(result))
        case .push(let push): reply.body = .push(named(push))
        default: break
        }
        return reply
    }

    private mutating func named(_ push: Push) -> Push {
        var push = push
        switch push.body {
        case .publication(let publication): push.body = .publication(named([publication])[0])
        case .join(let info): push.body = .join(named(info))
        case .leave(let info): push.body = .leave(named(info))
        case .subscribe(var result):
            result.epoch = epoch(result.epoch)
            push.body = .subscribe(result)
        case .refresh(let expires, let ttl): push.body = .refresh(expires: expires, ttl: time(ttl))
        case .connect(let result): push.body = .connect(named(result))
        default: break
        }
        return push
    }

    private mutating func named(_ result: ConnectResult) -> ConnectResult {
        var result = result
        result.client = ByteString(naming.client(result.client.string))
        (result.version, result.ttl) = (told(result.version), time(result.ttl))
        (result.session, result.node) = (told(result.session), told(result.node))
        result.time = result.time == 0 ? 0 : 1
        for index in result.subs.indices { result.subs[index].result = named(result.subs[index].result) }
        result.subs.sort { $0.channel < $1.channel }
        return result
    }

    private mutating func named(_ result: SubscribeResult) -> SubscribeResult {
        var result = result
        result.ttl = time(result.ttl)
        result.epoch = epoch(result.epoch)
        result.publications = named(result.publications)
        return result
    }

    private mutating func named(_ result: RefreshResult) -> RefreshResult {
        var result = result
        result.client = result.client.isEmpty ? .empty : ByteString(naming.client(result.client.string))
        (result.version, result.ttl) = (told(result.version), time(result.ttl))
        return result
    }

    private mutating func named(_ publications: [Publication]) -> [Publication] {
        var publications = publications
        for index in publications.indices {
            publications[index].epoch = epoch(publications[index].epoch)
            publications[index].tags.sort { $0.key < $1.key }
            if let info = publications[index].info { publications[index].info = named(info) }
        }
        return publications
    }

    private mutating func named(_ clients: [PresenceEntry]) -> [PresenceEntry] {
        clients.map { PresenceEntry(key: ByteString(naming.client($0.key.string)), info: named($0.info)) }
            .sorted { $0.key < $1.key }
    }

    private mutating func named(_ info: ClientInfo) -> ClientInfo {
        var info = info
        info.client = ByteString(naming.client(info.client.string))
        return info
    }

    private mutating func epoch(_ told: ByteString) -> ByteString { ByteString(naming.epoch(told.string)) }

    private func told(_ text: ByteString) -> ByteString { text.isEmpty ? .empty : "…" }

    private mutating func time(_ ttl: UInt32) -> UInt32 {
        if ttl == 0 { return 0 }
        ttls.append(Int64(ttl))
        return 1
    }
}
