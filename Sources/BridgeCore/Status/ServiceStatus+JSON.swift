internal import BridgeDelivery
internal import BridgeStore
internal import Rooms
internal import RoomsRuntime
internal import RoomsWire

extension ServiceStatus {
    /// Of the rooms that are not joined so many are named.
    static let mostRooms = 100

    /// The answer to `GET /v1/status`.
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "version")
            writer.string(Version.number)
            writer.key(literal: "state")
            writer.string(isStopping ? "stopping" : "running")
            writer.time("started_at", startedAt)
            writer.time("at", now)
            if !silent.isEmpty {
                writer.key(literal: "silent")
                writer.array { writer in for name in silent { writer.string(name) } }
            }
            writer.key(literal: "servers")
            writer.array { writer in for server in servers { write(server, to: &writer) } }
            writer.key(literal: "rooms_not_joined")
            writer.array { writer in writeTroubles(to: &writer) }
            writer.key(literal: "endpoints")
            writer.array { writer in for endpoint in endpoints { write(endpoint, to: &writer) } }
            writer.key(literal: "buffer")
            writer.object { writer in
                writer.integer("events", store.waitingRows)
                writer.integer("bytes", store.waitingBytes)
                writer.integer("limit", store.maxSize)
                writer.key(literal: "full")
                writer.bool(store.isBufferFull)
                writer.key(literal: "disk_full")
                writer.bool(store.isDiskFull)
            }
        }
        return writer.bytes
    }

    private func write(_ server: Server, to writer: inout JSONWriter) {
        let intake = server.intake
        writer.object { writer in
            writer.string("name", server.name)
            writer.string("url", ByteString(server.url))
            writer.key(literal: "state")
            switch intake.connection {
            case .connected: writer.string("connected")
            case .connecting: writer.string("connecting")
            case .waiting: writer.string("waiting")
            case .held: writer.string("held")
            case .stopped: writer.string("stopped")
            }
            writer.time("since", intake.since)
            if case .waiting(let code, let reason, let pause, let isTerminal) = intake.connection {
                if code != 0 { writer.integer("code", code) }
                writer.string("reason", reason)
                writer.time("next_attempt_at", intake.changedAt + pause.wholeMilliseconds)
                writer.key(literal: "refused")
                writer.bool(isTerminal)
            }
            writer.key(literal: "rooms")
            writer.object { writer in
                writer.integer("configured", intake.rooms)
                writer.integer("joined", intake.joined)
                writer.integer("left", intake.left)
                writer.integer("failed", intake.troubles.count)
            }
        }
    }

    private func writeTroubles(to writer: inout JSONWriter) {
        var rest = Self.mostRooms
        for server in servers {
            for trouble in server.intake.troubles.prefix(rest) {
                rest -= 1
                writer.object { writer in
                    writer.string("server", server.name)
                    writer.string("room", trouble.room)
                    writer.integer("code", trouble.code)
                    writer.string("reason", trouble.reason)
                }
            }
        }
    }

    private func write(_ endpoint: EndpointStatus, to writer: inout JSONWriter) {
        let stored = store.endpoints.first { $0.id == endpoint.id }
        writer.object { writer in
            writer.string("name", endpoint.name)
            writer.key(literal: "state")
            writer.string(endpoint.hold == nil ? "open" : "holding")
            writer.integer("waiting_events", stored?.waitingRows ?? 0)
            writer.integer("waiting_bytes", stored?.waitingBytes ?? 0)
            writer.integer("in_flight", endpoint.inFlight)
            writer.integer("waiting_rooms", endpoint.waitingRooms)
            writer.integer("dead_letters", stored?.deadLetters ?? 0)
            if let hold = endpoint.hold {
                writer.time("since", hold.since)
                writer.time("next_attempt_at", hold.nextAttempt)
                writer.integer("failures", hold.failures)
            }
            if let refusal = endpoint.refusal {
                if let status = refusal.status { writer.integer("http_status", status) }
                writer.string("reason", ByteString(refusal.reason))
                if let hint = refusal.hint { writer.string("hint", ByteString("\(hint)")) }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func string(_ key: StaticString, _ value: ByteString) {
        self.key(literal: key)
        string(value)
    }

    fileprivate mutating func integer(_ key: StaticString, _ value: some FixedWidthInteger) {
        self.key(literal: key)
        integer(value)
    }

    /// Milliseconds since 1970.
    fileprivate mutating func time(_ key: StaticString, _ value: Int64) {
        self.key(literal: key)
        string("\(UTCTime(milliseconds: value))")
    }
}
