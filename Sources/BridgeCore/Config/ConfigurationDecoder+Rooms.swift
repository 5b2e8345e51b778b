internal import BridgeModel
internal import RoomsRuntime
internal import RoomsWire

extension ConfigurationDecoder {
    private static let longestRoomName = 1_024
    private static let roomsFileLimit = 16 << 20

    func rooms(_ object: ConfigurationObject, into table: inout RoomTable) {
        let wanted = "a list such as [{\"room\": \"shop\", \"to\": [\"app\"]}]"
        guard let list = object.required("rooms", wanted), let values = list.list(wanted) else { return }
        if values.isEmpty { list.reject("is empty, must be \(wanted)") }
        for value in values { room(value, into: &table) }
    }

    private func room(_ value: ConfigurationValue, into table: inout RoomTable) {
        guard
            let object = value.object(
                "an object such as {\"room\": \"shop\", \"to\": [\"app\"]}",
                keys: ["room", "rooms_file", "server", "to", "events", "types", "from"]
            )
        else { return }
        let server = server(of: object, table)
        let endpoints = endpoints(of: object, table)
        let notices = object["types"].map { self.notices($0) }
        let events = object["events"].flatMap { self.events($0, mayBeEmpty: notices != nil) }
        let start = object["from"]?.word(of: ["now", "earliest"])
            .map { $0 == "now" ? RoomConfiguration.Start.now : .earliest }
        // What is wrong with the names is said even when the rest of the entry is of no use.
        let entry = server.map {
            RoomTable.Entry(
                server: $0,
                start: start,
                events: events,
                notices: notices ?? [],
                endpoints: endpoints,
                value: value
            )
        }
        switch (object["room"], object["rooms_file"]) {
        case (let room?, nil):
            guard let name = room.text("the name of a room") else { return }
            if let problem = Self.problem(ofRoom: name) {
                room.reject(problem)
            } else if let entry {
                table.add(name, of: entry) { room.reject($0) }
            }
        case (nil, let file?):
            roomsFile(file, entry, into: &table)
        case (let room?, _?):
            room.reject("stands beside \"rooms_file\", must be one of the two")
        case (nil, nil):
            value.reject("names no room, must have \"room\" or \"rooms_file\"")
        }
    }

    private func server(of object: ConfigurationObject, _ table: RoomTable) -> Int? {
        guard let value = object["server"] else {
            if table.servers.count > 1 {
                object.value.reject("\"server\" is missing, must be \(Self.choice(table.servers))")
                return nil
            }
            return table.servers.isEmpty ? nil : 0
        }
        guard let name = value.text("the name of a server") else { return nil }
        return index(of: name, in: table.servers, "server", value)
    }

    private func endpoints(
        of object: ConfigurationObject,
        _ table: RoomTable
    ) -> [(index: Int, value: ConfigurationValue)] {
        let wanted = "a list of endpoints such as [\"\(table.endpoints.first ?? "app")\"]"
        guard let list = object.required("to", wanted), let values = list.list(wanted) else { return [] }
        if values.isEmpty { list.reject("is empty, must be \(wanted)") }
        var found: [(index: Int, value: ConfigurationValue)] = []
        for value in values {
            guard let name = value.text("the name of an endpoint"),
                let index = index(of: name, in: table.endpoints, "endpoint", value)
            else { continue }
            if found.contains(where: { $0.index == index }) {
                value.reject("is \"\(name)\" for the second time, take one out")
                continue
            }
            found.append((index, value))
        }
        return found
    }

    private func index(
        of name: ByteString,
        in names: [ByteString],
        _ kind: String,
        _ value: ConfigurationValue
    ) -> Int? {
        if let index = names.firstIndex(of: name) { return index }
        // Without any there is a complaint already.
        guard !names.isEmpty else { return nil }
        if let meant = Suggestion.nearest(to: name, among: names) {
            value.reject("there is no \(kind) \"\(name)\"; did you mean \"\(meant)\"?")
        } else {
            value.reject("there is no \(kind) \"\(name)\", must be \(Self.choice(names))")
        }
        return nil
    }

    private static func choice(_ names: [ByteString]) -> String {
        let shown = names.prefix(8).map { "\"\($0)\"" }.joined(separator: ", ") + (names.count > 8 ? ", …" : "")
        return names.count == 1 ? shown : "one of \(shown)"
    }

    private func notices(_ value: ConfigurationValue) -> Set<RoomNotice.Kind> {
        let words = RoomNotice.Kind.allCases.map { ByteString($0.rawValue) }
        let wanted = "a list such as [\"member\", \"count\", \"state\"]"
        guard let values = value.list(wanted) else { return [] }
        if values.isEmpty { value.reject("is empty, must be \(wanted); leave it out to have events and gaps alone") }
        var found: Set<RoomNotice.Kind> = []
        for value in values {
            guard let kind = value.word(of: words).flatMap({ RoomNotice.Kind(rawValue: $0.string) }) else { continue }
            if !found.insert(kind).inserted {
                value.reject("is \"\(kind.rawValue)\" for the second time, take one out")
            }
        }
        return found
    }

    /// None at all are wanted only by who wants something else.
    private func events(_ value: ConfigurationValue, mayBeEmpty: Bool) -> [EventFilter]? {
        let wanted = "a list of names of events such as [\"updated\", \"order.*\"]"
        guard let values = value.list(wanted) else { return nil }
        if values.isEmpty, !mayBeEmpty {
            value.reject("is empty, must be \(wanted); leave it out to have all events")
        }
        return values.compactMap { value in
            guard let text = value.text("the name of an event, or a beginning with \"*\" behind it") else { return nil }
            guard let filter = EventFilter(text) else {
                value.reject("is \"\(text)\", must have \"*\" only at the end")
                return nil
            }
            return filter
        }
    }

    private static func problem(ofRoom name: ByteString) -> String? {
        if name.count > longestRoomName {
            return "is \(name.count) bytes long, a room's name has at most \(longestRoomName)"
        }
        if name.bytes.contains(0) { return "has a NUL character in it, must be the name of a room" }
        if String(validating: name.bytes, as: UTF8.self) == nil { return "is not UTF-8, must be the name of a room" }
        return nil
    }

    /// One name a line, as bytes; empty lines and those that begin with `# ` are skipped.
    private func roomsFile(
        _ value: ConfigurationValue,
        _ entry: RoomTable.Entry?,
        into table: inout RoomTable
    ) {
        guard let text = value.text("the path of a file with one room a line") else { return }
        let path = resolve(text)
        let bytes: [UInt8]
        do throws(InputError) {
            bytes = try InputFile.read(path, limit: Self.roomsFileLimit)
        } catch {
            value.reject(error.message)
            return
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.isEmpty && !line.starts(with: "# ".utf8) {
            let reject = { (message: String) in
                problems.report(
                    ConfigurationIssue(file: path, place: .init(line: index + 1, column: 1), message: message)
                )
            }
            let name = ByteString(Array(line))
            if line.last == UInt8(ascii: "\r") {
                reject("ends with a carriage return, must end with a line feed alone (dos2unix)")
                return
            }
            if let problem = Self.problem(ofRoom: name) {
                reject(problem)
            } else if let entry {
                table.add(name, of: entry, reject: reject)
            }
        }
    }
}
