import RoomsRuntime

/// Writes a scenario that has one outcome.
///
/// After each step everything that was on its way is waited for. Joins and leaves come when they like, so the script keeps
/// count of who is in which room and waits for them.
struct Script {
    enum Format: String, Sendable, CaseIterable {
        case json
        case protobuf
    }

    let format: Format
    private(set) var scenario: Scenario
    private var ids: [String: UInt32] = [:]
    private var users: [String: String] = [:]
    /// Who hears of joins and leaves, by room, and who is there without hearing of them.
    private var crowds: [String: Set<String>] = [:]
    private var silent: [String: Set<String>] = [:]
    private var awaited: [String: [Heard.Kind: Int]] = [:]

    init(_ name: String, _ format: Format = .json, setup: Scenario.Setup = .main) {
        self.format = format
        scenario = Scenario(name: "\(name) (\(format))", setup: setup)
    }

    mutating func add(_ step: Scenario.Step) { scenario.steps.append(step) }

    mutating func settle() { add(.settle) }

    // MARK: connections

    /// Opens a connection and says `connect` with those members.
    mutating func connect(_ name: String, _ members: String, path: String = "/connection/websocket", hears: Int = 1) {
        open(name, path: path)
        ids[name] = 1
        add(.say(on: name, #"{"id":1,"connect":{\#(members)}}"#))
        if hears > 0 { add(.hear(on: name, hears)) }
    }

    mutating func open(_ name: String, path: String = "/connection/websocket", answersPings: Bool = true) {
        var connection = Scenario.Connection(name: name, path: path)
        connection.protocols = ["centrifuge-\(format)"]
        connection.answersPings = answersPings
        add(.open(connection))
        (ids[name], awaited[name]) = (0, [:])
    }

    /// As a user, or as nobody; `claims` are more members of the token.
    mutating func connect(_ name: String, as user: String?, _ claims: String = "") {
        users[name] = user ?? ""
        guard let user else { return connect(name, #""name":"differential""#) }
        let more = claims.isEmpty ? "" : ",\(claims)"
        connect(name, #""token":"\#(Template.token(#"{"sub":"\#(user)"\#(more)}"#))""#)
    }

    mutating func close(_ name: String) {
        add(.close(name))
        left(name)
    }

    /// The server ends the connection.
    mutating func ends(_ name: String) {
        add(.end(of: name))
        left(name)
    }

    // MARK: commands

    @discardableResult
    mutating func say(_ name: String, _ method: String, _ body: String) -> UInt32 {
        let id = (ids[name] ?? 0) + 1
        ids[name] = id
        add(.say(on: name, #"{"id":\#(id),"\#(method)":\#(body)}"#))
        settle()
        return id
    }

    /// Something the server ends the connection for.
    mutating func sayLast(_ name: String, _ method: String, _ body: String) {
        let id = (ids[name] ?? 0) + 1
        add(.say(on: name, #"{"id":\#(id),"\#(method)":\#(body)}"#))
        ends(name)
    }

    /// A subscription that succeeds.
    mutating func join(_ name: String, _ room: String, _ members: String = "") {
        say(name, "subscribe", #"{"channel":"\#(room)"\#(members.isEmpty ? "" : ",\(members)")}"#)
        joined(name, room, asks: members.contains("join_leave"))
    }

    mutating func leave(_ name: String, _ room: String) {
        say(name, "unsubscribe", #"{"channel":"\#(room)"}"#)
        left(name, room)
    }

    // MARK: the server API

    mutating func call(_ method: String, _ body: String) {
        add(.call(Scenario.Call(line: "POST /api/\(method)", body: Array(body.utf8))))
        settle()
    }

    mutating func publish(_ room: String, _ data: String, _ members: String = "") {
        call("publish", #"{"channel":"\#(room)","data":\#(data)\#(members.isEmpty ? "" : ",\(members)")}"#)
    }

    mutating func publish(_ numbers: ClosedRange<Int>, to room: String) {
        add(.publish(numbers, room: room))
        settle()
    }

    /// A call that ends those connections.
    mutating func call(_ method: String, _ body: String, ends names: [String]) {
        add(.call(Scenario.Call(line: "POST /api/\(method)", body: Array(body.utf8))))
        for name in names.sorted() { add(.end(of: name)) }
        for room in Set(Array(crowds.keys) + silent.keys).sorted() { left(names, room) }
        settle()
    }

    /// A call that takes those connections out of a room, or only tells them so.
    mutating func call(_ method: String, _ body: String, unsubscribes names: [String], from room: String) {
        add(.call(Scenario.Call(line: "POST /api/\(method)", body: Array(body.utf8))))
        for name in names.sorted() { expect(.unsubscribe, by: name) }
        left(names, room)
        settle()
    }

    /// Whether joins and leaves of the room are told at all.
    static func hasCrowd(_ room: String) -> Bool { tells(room) || room.hasPrefix("ask:") }

    /// A call that takes those connections into a room.
    mutating func call(_ method: String, _ body: String, subscribes names: [String], to room: String) {
        add(.call(Scenario.Call(line: "POST /api/\(method)", body: Array(body.utf8))))
        for name in names.sorted() { expect(.subscribe, by: name) }
        for name in names.sorted() { joined(name, room) }
        settle()
    }

    // MARK: who is where

    private static func tells(_ room: String) -> Bool { room.hasPrefix("order:") || room.hasPrefix("$order:") }

    /// `name` has joined; all who hear of it are waited for.
    mutating func joined(_ name: String, _ room: String, asks: Bool = false) {
        guard Self.hasCrowd(room) else { return }
        if Self.tells(room) || asks {
            crowds[room, default: []].insert(name)
        } else {
            silent[room, default: []].insert(name)
        }
        for member in crowds[room, default: []].sorted() { expect(.join, by: member) }
        settle()
    }

    mutating func left(_ name: String, _ room: String) { left([name], room) }

    /// Several may leave at once only where at most one of them is heard of: who goes first is not determined.
    private mutating func left(_ names: [String], _ room: String) {
        let gone = names.filter { crowds[room]?.contains($0) == true || silent[room]?.contains($0) == true }
        guard !gone.isEmpty else { return }
        crowds[room]?.subtract(gone)
        silent[room]?.subtract(gone)
        for _ in gone {
            for member in crowds[room, default: []].sorted() { expect(.leave, by: member) }
        }
        // Who comes next must not hear of it.
        if crowds[room, default: []].isEmpty { add(.pause(.milliseconds(40))) }
        settle()
    }

    private mutating func left(_ name: String) {
        for room in Set(Array(crowds.keys) + silent.keys).sorted() { left(name, room) }
    }

    private mutating func expect(_ kind: Heard.Kind, by name: String) {
        awaited[name, default: [:]][kind, default: 0] += 1
        add(.await(on: name, kind, total: awaited[name]?[kind] ?? 0))
    }
}
