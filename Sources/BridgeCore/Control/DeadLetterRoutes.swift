internal import BridgeDelivery
internal import BridgeModel
internal import BridgeStore
internal import LocalHTTP
internal import RoomsRuntime
internal import RoomsWire

/// The dead letters in the control API.
///
/// - `GET /v1/dead-letters?endpoint=&room=&after=&limit=&body=1`: a page, and `next` where there is another;
/// - `GET /v1/dead-letters/NUMBER`: one, with its body;
/// - `POST /v1/dead-letters/retry` and `/purge` with `{"numbers":[…]}`, `{"endpoint":…,"room":…}` or `{"all":true}`: how many
///   there were; `retry` also takes `"order"`: `lane` or `none`, and gives its `run`.
struct DeadLetterRoutes {
    private static let mostOfPage = 500

    let store: Store
    let text: DeliveryText
    let loop: EventLoop

    var routes: [ControlServer.Route] {
        [
            ControlServer.Route(method: "GET", path: "/v1/dead-letters", answer: page),
            ControlServer.Route(method: "POST", path: "/v1/dead-letters/retry", answer: retry),
            ControlServer.Route(method: "POST", path: "/v1/dead-letters/purge", answer: purge),
            ControlServer.Route(method: "GET", path: "/v1/dead-letters/", answer: one),
        ]
    }

    // MARK: requests

    private func page(_ request: HTTPRequest) -> HTTPResponse {
        let after = request.parameter("after").flatMap { Int64($0.string) } ?? 0
        let limit = request.parameter("limit").flatMap { Int($0.string) } ?? Self.mostOfPage
        let selection = DeadLetterSelection(endpoint: request.parameter("endpoint"), room: request.parameter("room"))
        let hasBody = request.parameter("body") == "1"
        let wanted = DeadLetterRequest.page(selection, after: after, limit: min(max(1, limit), Self.mostOfPage))
        return ask(wanted) { answer in
            guard case .page(let letters, let next) = answer else { return ControlServer.failure("no page") }
            var writer = JSONWriter()
            writer.object { writer in
                writer.key(literal: "dead_letters")
                writer.array { writer in for letter in letters { write(letter, hasBody: hasBody, to: &writer) } }
                if let next {
                    writer.key(literal: "next")
                    writer.integer(next)
                }
            }
            return .json(writer.bytes)
        }
    }

    private func one(_ request: HTTPRequest) -> HTTPResponse {
        let text = ByteString(Array(request.path.bytes.dropFirst("/v1/dead-letters/".utf8.count)))
        guard let number = Int64(text.string), number > 0 else {
            return ControlServer.failure("\"\(text)\" is no dead letter, must be its number", status: 404)
        }
        let selection = DeadLetterSelection(numbers: [number])
        return ask(.page(selection, after: 0, limit: 1)) { answer in
            guard case .page(let letters, _) = answer, let letter = letters.first else {
                return ControlServer.failure("there is no dead letter \(number)", status: 404)
            }
            var writer = JSONWriter()
            write(letter, hasBody: true, to: &writer)
            return .json(writer.bytes)
        }
    }

    private func retry(_ request: HTTPRequest) -> HTTPResponse {
        guard let body = body(request), let selection = selection(body) else { return Self.noSelection }
        var inOrder = true
        switch body["order"]?.string {
        case nil, "lane": break
        case "none": inOrder = false
        case let order?: return ControlServer.failure("\"order\" is \"\(order)\", must be \"lane\" or \"none\"")
        }
        let run = ByteString(Array("run_".utf8) + Base32.encode(Digest.randomBytes(10)))
        return ask(.retry(selection, run: run, inOrder: inOrder)) { answer in
            changed(answer) { writer in
                writer.key(literal: "run")
                writer.string(run)
            }
        }
    }

    private func purge(_ request: HTTPRequest) -> HTTPResponse {
        guard let body = body(request), let selection = selection(body) else { return Self.noSelection }
        return ask(.purge(selection)) { answer in changed(answer) { _ in } }
    }

    private static var noSelection: HTTPResponse {
        ControlServer.failure(
            "says not which dead letters are meant, must be {\"numbers\": [1]}, {\"endpoint\": \"…\"}, {\"room\": \"…\"} "
                + "or {\"all\": true}"
        )
    }

    private func body(_ request: HTTPRequest) -> JSONNode? {
        try? JSONDocument.parse(request.body).root
    }

    /// Nil when it says nothing, or something that is not understood: never all by mistake.
    private func selection(_ body: JSONNode) -> DeadLetterSelection? {
        let known: Set<ByteString> = ["numbers", "endpoint", "room", "all", "order"]
        guard let members = body.members, members.allSatisfy({ known.contains($0.key) }) else { return nil }
        if body["all"]?.bool == true { return members.count { $0.key != "order" } == 1 ? DeadLetterSelection() : nil }
        var selection = DeadLetterSelection()
        if let list = body["numbers"] {
            let numbers = list.elements?.map { $0.integer(as: Int64.self) }
            guard let numbers, !numbers.isEmpty, !numbers.contains(nil) else { return nil }
            selection.numbers = Set(numbers.compactMap { $0 })
        }
        if let endpoint = body["endpoint"] {
            guard let name = endpoint.string else { return nil }
            selection.endpoint = name
        }
        if let room = body["room"] {
            guard let name = room.string else { return nil }
            selection.room = name
        }
        return selection == DeadLetterSelection() ? nil : selection
    }

    // MARK: answers

    /// Asks the store; `render` runs on the loop.
    private func ask(
        _ request: DeadLetterRequest,
        _ render: @escaping (DeadLetterAnswer) -> HTTPResponse
    ) -> HTTPResponse {
        HTTPResponse { done in
            let answer = LoopBound((render, done), on: loop)
            store.deadLetters(request) { result in
                answer.loop.post {
                    let (render, done) = answer.value
                    if case .unknownEndpoint(let name) = result {
                        done(ControlServer.failure("there is no endpoint \"\(name)\"", status: 404))
                    } else {
                        done(render(result))
                    }
                }
            }
        }
    }

    private func changed(_ answer: DeadLetterAnswer, _ more: (inout JSONWriter) -> Void) -> HTTPResponse {
        guard case .changed(let count) = answer else { return ControlServer.failure("nothing was done") }
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(literal: "count")
            writer.integer(count)
            more(&writer)
        }
        return .json(writer.bytes)
    }

    private func write(_ stored: StoredDeadLetter, hasBody: Bool, to writer: inout JSONWriter) {
        func string(_ key: StaticString, _ value: ByteString, _ writer: inout JSONWriter) {
            writer.key(literal: key)
            writer.string(value)
        }
        func integer(_ key: StaticString, _ value: some FixedWidthInteger, _ writer: inout JSONWriter) {
            writer.key(literal: key)
            writer.integer(value)
        }
        let (letter, delivery) = (stored.letter, stored.delivery)
        writer.object { writer in
            integer("number", stored.number, &writer)
            string("endpoint", stored.endpoint, &writer)
            string("server", delivery.room.server, &writer)
            string("room", delivery.room.room, &writer)
            switch delivery.body {
            case .event(let event):
                string("type", "room.event", &writer)
                string("event", event.name, &writer)
                if event.offset > 0 {
                    string("epoch", event.epoch, &writer)
                    integer("offset", event.offset, &writer)
                }
            case .gap(let gap, _):
                string("type", "room.gap", &writer)
                string("epoch", gap.epoch, &writer)
                integer("offset", gap.from, &writer)
            case .notice(let notice):
                string("type", ByteString("room.\(notice.kind.rawValue)"), &writer)
            }
            integer("seq", delivery.seq, &writer)
            string("id", text.id(of: delivery), &writer)
            string("reason", ByteString(letter.reason.rawValue), &writer)
            writer.key(literal: "status")
            if let status = letter.status { writer.integer(status) } else { writer.null() }
            integer("attempts", letter.attempts, &writer)
            string("first_at", DeliveryText.timestamp(letter.firstAttempt), &writer)
            string("last_at", DeliveryText.timestamp(letter.lastAttempt), &writer)
            if let run = stored.run { string("retry", run, &writer) }
            if hasBody {
                writer.key(literal: "body")
                writer.raw(text.body(of: delivery))
            }
        }
    }
}
