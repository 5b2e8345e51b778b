internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// What `GET /faults` shows: listeners, connections, and what is wrong with them, with rooms and with answers.
struct FaultReport {
    let json: [UInt8]

    init(_ hub: Hub) {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "result")
            writer.object { writer in
                writer.key(literal: "listeners")
                writer.array { writer in
                    for listener in hub.listeners { Self.write(listener, of: hub, into: &writer) }
                }
                writer.key(literal: "connections")
                writer.array { writer in
                    let connections = hub.connections.values.sorted { $0.session.client < $1.session.client }
                    for connection in connections { Self.write(connection, into: &writer) }
                }
                writer.key(literal: "rooms")
                writer.object { writer in
                    for room in hub.state.registry.rooms.values.sorted(by: { $0.name < $1.name }) {
                        guard let faults = room.faults else { continue }
                        writer.key(room.name)
                        writer.object { Self.write(faults, into: &$0) }
                    }
                }
                Self.write(hub.state.answerFaults ?? AnswerFaults(), into: &writer)
            }
        }
        json = writer.bytes
    }

    private static func write(_ listener: HubListener, of hub: Hub, into writer: inout JSONWriter) {
        writer.object { writer in
            writer.key(literal: "address")
            writer.string(listener.address.description)
            writer.key(literal: "refuses")
            writer.bool(listener.isRefusing)
            writer.key(literal: "connections")
            writer.integer(hub.connections.values.count { $0.listener === listener })
            let standing = hub.standingFaults.filter { $0.target.listener == nil || $0.target.listener === listener }
            guard !standing.isEmpty else { return }
            var faults = LinkFaults()
            for (_, change) in standing { faults.apply(change) }
            writer.key(literal: "new")
            writer.object { write(faults, into: &$0) }
        }
    }

    private static func write(_ connection: HubConnection, into writer: inout JSONWriter) {
        let session = connection.session
        writer.object { writer in
            writer.key(literal: "client")
            writer.string(session.client)
            writer.key(literal: "user")
            writer.string(session.user)
            writer.key(literal: "listener")
            writer.string(connection.listener.address.description)
            writer.key(literal: "format")
            writer.string(session.format == .json ? "json" : "protobuf")
            writer.key(literal: "rooms")
            writer.array { writer in
                for room in session.subscriptions.keys.sorted() { writer.string(room) }
            }
            writer.key(literal: "queued")
            writer.integer(connection.queuedBytes)
            guard let faults = connection.faults else { return }
            writer.key(literal: "faults")
            writer.object { write(faults, into: &$0) }
        }
    }

    private static func write(_ faults: LinkFaults, into writer: inout JSONWriter) {
        let flags: [(ByteString, Bool)] = [
            ("silent", faults.isSilent), ("reading_paused", faults.pausesReading),
            ("writing_paused", faults.pausesWriting),
        ]
        for (key, isSet) in flags where isSet {
            writer.key(key)
            writer.bool(true)
        }
        if faults.delay > .zero {
            writer.key(literal: "delay_ms")
            writer.integer(faults.delay.wholeMilliseconds)
        }
        if faults.bytesPerSecond > 0 {
            writer.key(literal: "bytes_per_second")
            writer.integer(faults.bytesPerSecond)
        }
    }

    private static func write(_ faults: RoomFaults, into writer: inout JSONWriter) {
        let counts: [(ByteString, Int)] = [
            ("misplaced_members", faults.misplaced.count), ("lose_push", faults.losses),
            ("duplicate_push", faults.duplicates),
        ]
        for (key, count) in counts where count > 0 {
            writer.key(key)
            writer.integer(count)
        }
    }

    private static func write(_ faults: AnswerFaults, into writer: inout JSONWriter) {
        let answers: [(ByteString, [FailedAnswers])] = [
            ("fail_subscribes", faults.subscribes), ("fail_connects", faults.connects),
        ]
        for (key, answers) in answers {
            writer.key(key)
            writer.array { writer in
                for answer in answers { writer.object { write(answer, into: &$0) } }
            }
        }
        writer.key(literal: "refuse_upgrades")
        writer.array { writer in
            for upgrade in faults.upgrades {
                writer.object { writer in
                    writer.key(literal: "count")
                    writer.integer(upgrade.count)
                    writer.key(literal: "status")
                    writer.integer(upgrade.status)
                    guard let listener = upgrade.listener else { return }
                    writer.key(literal: "listener")
                    writer.string(listener.address.description)
                }
            }
        }
    }

    private static func write(_ answer: FailedAnswers, into writer: inout JSONWriter) {
        let (code, message) =
            switch answer.outcome {
            case .error(let error): (error.code, error.message)
            case .close(let close): (UInt32(close.code), close.reason)
            }
        writer.key(literal: "count")
        writer.integer(answer.count)
        writer.key(literal: "code")
        writer.integer(code)
        writer.key(literal: "message")
        writer.string(message)
        guard let pattern = answer.pattern else { return }
        writer.key(literal: "pattern")
        writer.string(pattern.text)
    }
}
