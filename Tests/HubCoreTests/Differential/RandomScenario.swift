import BridgeTestSupport

/// A scenario that chance wrote; the same for the same seed.
///
/// Whatever it does has one outcome on every server, which is why it keeps a model of who is where.
struct RandomScenario {
    private struct Client {
        let name: String
        let user: String
        var isOpen = false
        var expires = false
        var rooms: Set<String> = []
    }

    private var random: SeededRandom
    private var script: Script
    private var clients = [
        Client(name: "a", user: "ann"), Client(name: "b", user: "bob"), Client(name: "c", user: "ann"),
        Client(name: "d", user: ""),
    ]
    /// Rooms with a stream, in the order of their epochs, and how far the streams are.
    private var tops: [String: Int] = [:]
    private static let streams = ["order:1", "order:2", "small:1", "nohistory:1", "position:1", "ask:1", "$order:1"]
    private static let rooms = streams + ["live:1", "shop"]
    private var published = 0
    private var keys = 0

    static func write(seed: UInt64, steps: Int = 40) -> Scenario {
        var scenario = RandomScenario(seed: seed)
        scenario.prepare()
        for _ in 0..<steps { scenario.step() }
        return scenario.script.scenario
    }

    private init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        script = Script("random, seed \(seed)", random.one(in: 2) ? .json : .protobuf)
    }

    /// Gives every stream an epoch, so that the number of each is known.
    private mutating func prepare() {
        for room in Self.streams { script.call("history", #"{"channel":"\#(room)"}"#) }
        for index in clients.indices { open(index) }
    }

    private mutating func step() {
        let index = Int.random(in: clients.indices, using: &random)
        guard clients[index].isOpen else { return open(index) }
        switch Int.random(in: 0..<30, using: &random) {
        case 0..<6: subscribe(index)
        case 6..<8: unsubscribe(index)
        case 8..<12: publish()
        case 12..<14: clientPublishes(index)
        case 14: broadcast()
        case 15: batch()
        case 16..<18: close(index)
        case 18: kick(index)
        case 19: unsubscribeByCall(index)
        case 20: subscribeByCall(index)
        case 21..<24: history(index)
        case 24: presence(index)
        case 25: presenceByCall()
        case 26: removeHistory()
        case 27: refresh(index)
        case 28: askedInVain(index)
        default: mistake(index)
        }
    }

    private mutating func room() -> String { Self.rooms.randomElement(using: &random) ?? "shop" }

    private mutating func stream() -> String { Self.streams.randomElement(using: &random) ?? "order:1" }

    private func epoch(of room: String) -> String {
        Self.streams.firstIndex(of: room).map { "$epoch(\($0 + 1))" } ?? ""
    }

    // MARK: connections

    private mutating func open(_ index: Int) {
        let client = clients[index]
        clients[index].rooms = []
        clients[index].isOpen = true
        clients[index].expires = !client.user.isEmpty && random.one(in: 2)
        let claims = clients[index].expires ? #""exp":"@600","info":{"of":"\#(client.name)"}"# : ""
        script.connect(client.name, as: client.user.isEmpty ? nil : client.user, claims)
    }

    private mutating func close(_ index: Int) {
        clients[index].isOpen = false
        script.close(clients[index].name)
    }

    private mutating func kick(_ index: Int) {
        let client = clients[index]
        guard !client.user.isEmpty else { return close(index) }
        let code =
            ["", #","disconnect":{"code":4000,"reason":"later"}"#, #","disconnect":{"code":3600,"reason":""}"#]
            .randomElement(using: &random) ?? ""
        let sameUser = clients.filter { $0.isOpen && $0.user == client.user }
        let shared = sameUser.dropFirst().reduce(sameUser[0].rooms) { $0.intersection($1.rooms) }
        let isWhole = sameUser.count == 1 || !shared.contains(where: Script.hasCrowd) && random.one(in: 2)
        let kicked = clients.indices.filter {
            clients[$0].isOpen && (isWhole ? clients[$0].user == client.user : $0 == index)
        }
        let target = isWhole ? "" : #","client":"$client(\#(client.name))""#
        script.call(
            "disconnect",
            #"{"user":"\#(client.user)"\#(target)\#(code)}"#,
            ends: kicked.map { clients[$0].name }
        )
        for index in kicked { clients[index].isOpen = false }
    }

    private mutating func refresh(_ index: Int) {
        let client = clients[index]
        guard clients[index].expires else { return }
        func token(_ user: String, _ end: Int) -> String { Template.token(#"{"sub":"\#(user)","exp":"@\#(end)"}"#) }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: last(index, "refresh", #"{"token":"\#(token(client.user, -9))"}"#)
        case 1: last(index, "refresh", #"{"token":"\#(token("else", 900))"}"#)
        default: script.say(client.name, "refresh", #"{"token":"\#(token(client.user, 900))"}"#)
        }
    }

    private mutating func last(_ index: Int, _ method: String, _ body: String) {
        clients[index].isOpen = false
        script.sayLast(clients[index].name, method, body)
    }

    // MARK: rooms

    private mutating func subscribe(_ index: Int) {
        let room = room()
        let client = clients[index]
        guard !client.rooms.contains(room) else {
            script.say(client.name, "subscribe", #"{"channel":"\#(room)"}"#)
            return
        }
        var members: [String] = []
        if room.hasPrefix("$") {
            let expiry = random.one(in: 2) ? #","exp":"@600""# : ""
            let user = client.user.isEmpty ? "" : #""sub":"\#(client.user)","#
            members.append(#""token":"\#(Template.token("{\(user)\"channel\":\"\(room)\"\(expiry)}"))""#)
        }
        if random.one(in: 2) {
            members.append(#""recover":true"#)
            let top = tops[room] ?? 0
            let offset = max(0, top - Int.random(in: -2...14, using: &random))
            if offset > 0 || random.one(in: 2) { members.append(#""offset":\#(offset)"#) }
            let epoch = random.one(in: 5) ? ["", "wrong"].randomElement(using: &random) ?? "" : epoch(of: room)
            if !epoch.isEmpty { members.append(#""epoch":"\#(epoch)""#) }
        }
        for asked in ["positioned", "recoverable", "join_leave"] where random.one(in: 4) {
            members.append("\"\(asked)\":true")
        }
        if random.one(in: 8) { members.append(#""flag":1"#) }
        clients[index].rooms.insert(room)
        script.join(client.name, room, members.joined(separator: ","))
    }

    private mutating func unsubscribe(_ index: Int) {
        let room = clients[index].rooms.sorted().randomElement(using: &random) ?? room()
        clients[index].rooms.remove(room)
        script.leave(clients[index].name, room)
    }

    private mutating func unsubscribeByCall(_ index: Int) {
        let client = clients[index]
        guard !client.user.isEmpty else { return }
        let room = client.rooms.sorted().randomElement(using: &random) ?? room()
        let isWhole = !Script.hasCrowd(room) && random.one(in: 2)
        let told = clients.indices.filter {
            isWhole ? clients[$0].isOpen && clients[$0].user == client.user : $0 == index
        }
        let target = isWhole ? "" : #","client":"$client(\#(client.name))""#
        script.call(
            "unsubscribe",
            #"{"user":"\#(client.user)","channel":"\#(room)"\#(target)}"#,
            unsubscribes: told.map { clients[$0].name },
            from: room
        )
        for index in told { clients[index].rooms.remove(room) }
    }

    private mutating func subscribeByCall(_ index: Int) {
        let client = clients[index]
        let room = ["order:1", "order:2", "small:1", "live:1"].randomElement(using: &random) ?? "live:1"
        guard !client.user.isEmpty, !client.rooms.contains(room) else { return }
        clients[index].rooms.insert(room)
        script.call(
            "subscribe",
            #"{"user":"\#(client.user)","channel":"\#(room)","client":"$client(\#(client.name))"}"#,
            subscribes: [client.name],
            to: room
        )
    }

    private mutating func history(_ index: Int) {
        let room = stream()
        var members = [#""channel":"\#(room)""#, #""limit":\#(Int.random(in: -1...6, using: &random))"#]
        let isReverse = random.one(in: 3)
        if isReverse { members.append(#""reverse":true"#) }
        if random.one(in: 2) {
            let offset = max(0, (tops[room] ?? 0) - Int.random(in: -1...12, using: &random))
            let epoch = random.one(in: 6) ? "wrong" : epoch(of: room)
            members.append(#""since":{"offset":\#(offset),"epoch":"\#(epoch)"}"#)
        }
        let body = "{\(members.joined(separator: ","))}"
        if random.one(in: 3) {
            script.call("history", body)
        } else {
            script.say(clients[index].name, "history", body)
        }
    }

    private mutating func presence(_ index: Int) {
        let method = random.one(in: 2) ? "presence" : "presence_stats"
        script.say(clients[index].name, method, #"{"channel":"\#(room())"}"#)
    }

    private mutating func presenceByCall() {
        let method = ["presence", "presence_stats"].randomElement(using: &random) ?? "presence"
        script.call(method, #"{"channel":"\#(room())"}"#)
        if random.one(in: 2) { script.call("channels", "{}") }
    }

    // MARK: publications

    private mutating func data() -> String {
        published += 1
        return [
            #"{"n":\#(published)}"#, "\(published)", #""text \#(published)""#, #"[\#(published), {"x" : 1.50}]"#,
            "null",
        ].randomElement(using: &random) ?? "0"
    }

    private mutating func grew(_ room: String) {
        if Self.streams.contains(room) { tops[room, default: 0] += 1 }
    }

    private mutating func publish() {
        let room = random.one(in: 3) ? "small:1" : room()
        switch Int.random(in: 0..<8, using: &random) {
        case 0: script.publish(room, data(), #""skip_history":true"#)
        case 1:
            keys += 1
            let data = data()
            for _ in 0..<2 { script.publish(room, data, #""idempotency_key":"\#(keys)""#) }
            grew(room)
        case 2:
            script.publish(room, data(), #""tags":{"k":"v"}"#)
            grew(room)
        case 3, 4:
            let count = Int.random(in: 1...12, using: &random)
            script.publish(1...count, to: room)
            for _ in 0..<count { grew(room) }
        default:
            script.publish(room, data())
            grew(room)
        }
    }

    private mutating func clientPublishes(_ index: Int) {
        let room = random.one(in: 4) ? room() : "order:1"
        let client = clients[index]
        // A member may, in rooms of orders.
        if room.contains("order:"), client.rooms.contains(room) || !room.hasPrefix("$") { grew(room) }
        script.say(client.name, "publish", #"{"channel":"\#(room)","data":\#(data())}"#)
    }

    private mutating func broadcast() {
        let rooms = Self.rooms.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random))
        let names = rooms.map { "\"\($0)\"" }.joined(separator: ",")
        for room in rooms { grew(room) }
        script.call("broadcast", #"{"channels":[\#(names)],"data":\#(data())}"#)
    }

    private mutating func batch() {
        var commands: [String] = []
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let room = room()
            switch Int.random(in: 0..<4, using: &random) {
            case 0: commands.append(#"{"presence_stats":{"channel":"\#(room)"}}"#)
            case 1: commands.append(#"{"history":{"channel":"\#(room)","limit":2,"reverse":true}}"#)
            default:
                commands.append(#"{"publish":{"channel":"\#(room)","data":\#(data())}}"#)
                grew(room)
            }
        }
        script.call("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
    }

    private mutating func removeHistory() {
        if random.one(in: 2) { script.call("history_remove", #"{"channel":"\#(stream())"}"#) }
    }

    // MARK: mistakes

    private mutating func askedInVain(_ index: Int) {
        let asked = [
            ("subscribe", #"{"channel":"nosuch:1"}"#), ("subscribe", #"{"channel":"closed:1"}"#),
            ("subscribe", #"{"channel":"$order:2"}"#), ("history", #"{"channel":"live:1","limit":1}"#),
            ("rpc", #"{"method":"x","data":{}}"#), ("publish", #"{"channel":"small:1","data":1}"#),
            ("sub_refresh", #"{"channel":"live:1","token":"x"}"#), ("unsubscribe", #"{"channel":"nosuch:1"}"#),
        ].randomElement(using: &random)
        if let asked { script.say(clients[index].name, asked.0, asked.1) }
    }

    private mutating func mistake(_ index: Int) {
        let made = [
            ("connect", "{}"), ("ping", "{}"), ("subscribe", "{}"), ("unsubscribe", "{}"), ("sub_refresh", "{}"),
        ].randomElement(using: &random)
        if let made { last(index, made.0, made.1) }
    }
}
