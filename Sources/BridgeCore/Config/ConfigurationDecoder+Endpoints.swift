internal import BridgeDelivery
internal import BridgeModel
internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

extension ConfigurationDecoder {
    private static let urlExample = "a text such as \"http://127.0.0.1:9000/hooks/rooms\""

    func endpoint(_ entry: ConfigurationEntry) -> EndpointConfiguration? {
        guard
            let object = entry.value.object(
                "an object such as {\"url\": \"http://127.0.0.1:9000/hooks/rooms\"}",
                keys: [
                    "url", "unix", "protocol", "path", "signing", "bearer", "headers", "concurrency", "ca",
                    "client_certificate", "client_key", "insecure_http", "status",
                    "conflict", "on_poison", "infer_poison", "retry_after_max", "overflow", "max_age", "format", "ack",
                    "batch",
                ]
            )
        else { return nil }
        let target = target(object)
        let signing = object["signing"].flatMap { self.signing($0) } ?? []
        let concurrency = object["concurrency"]?.integer(in: 1...EndpointConfiguration.maximumConcurrency)
        let headers = headers(object)
        let (ca, identity) = tls(object, of: target)
        let policy = statusPolicy(object)
        let longestPause = object["retry_after_max"]?.duration(upTo: "31d", written: "24h")
        let lossRule = lossRule(object)
        let format = format(object)
        let batch = batch(object, format)
        let givesUp = object["on_poison"]?.word(of: ["dead_letter", "block"]) != "block"
        let infersPoison = object["infer_poison"]?.bool() ?? false
        if !givesUp, infersPoison {
            object["infer_poison"]?.reject(
                "makes dead letters, which \"on_poison\": \"block\" rules out, leave one out"
            )
        }
        guard let target else { return nil }
        return EndpointConfiguration(
            name: entry.name,
            target: target,
            signing: signing,
            concurrency: concurrency ?? target.usualConcurrency,
            headers: headers,
            ca: ca,
            identity: identity,
            statusPolicy: policy,
            givesUp: givesUp,
            infersPoison: infersPoison,
            longestPause: longestPause ?? EndpointConfiguration.defaultLongestPause,
            format: format,
            batch: batch,
            lossRule: lossRule
        )
    }

    private static let statusWords: [(word: ByteString, action: StatusPolicy.Action)] = [
        ("ok", .accept), ("event", .refuse), ("retry", .fail), ("endpoint", .unauthorized), ("overload", .overload),
    ]

    private func lossRule(_ object: ConfigurationObject) -> LossRule {
        var rule = LossRule.none
        rule.onOverflow = object["overflow"]?.word(of: ["leave", "gap"]) == "gap"
        if let value = object["max_age"], let age = value.duration(upTo: "366d", written: "24h") {
            if age < .seconds(1) { value.reject("is below a second, must be a time such as \"24h\"") }
            rule.maxAge = age
        }
        return rule
    }

    private func statusPolicy(_ object: ConfigurationObject) -> StatusPolicy {
        var policy = StatusPolicy()
        if object["conflict"]?.word(of: ["retry", "ack"]) == "ack" { policy.overrides[409] = .accept }
        let entries = object["status"]?.entries("an object such as {\"404\": \"event\"}") ?? []
        for entry in entries {
            let digits = entry.name.bytes
            guard digits.count == 3, let status = Int(entry.name.string), (200...599).contains(status) else {
                entry.value.reject("has a key that is no status, must be one from 200 to 599")
                continue
            }
            let word = entry.value.word(of: Self.statusWords.map(\.word))
            guard let action = Self.statusWords.first(where: { $0.word == word })?.action else { continue }
            policy.overrides[status] = action
        }
        return policy
    }

    private func target(_ object: ConfigurationObject) -> EndpointConfiguration.Target? {
        switch (object["url"], object["unix"]) {
        case (let url?, nil):
            for key: ByteString in ["protocol", "path", "ack"] {
                object[key]?.reject("has a place only beside \"unix\", leave it out: the URL says it all")
            }
            return webTarget(url, object)
        case (nil, let unix?):
            object["insecure_http"]?.reject("has no meaning beside \"unix\", leave it out")
            return unixTarget(unix, object)
        case (let url?, _?):
            url.reject("stands beside \"unix\", must be one of the two")
            return nil
        case (nil, nil):
            object.value.reject("has no target, must have \"url\" or \"unix\"")
            return nil
        }
    }

    private func webTarget(
        _ value: ConfigurationValue,
        _ object: ConfigurationObject
    ) -> EndpointConfiguration.Target? {
        let mayBePlain = object["insecure_http"]?.bool() ?? false
        guard let url = url(value, [.http, .https], Self.urlExample) else { return nil }
        if !url.isSecure {
            guard mayBePlain || Self.isLoopback(url.host) else {
                value.reject(
                    "sends events unencrypted to another host (\(url.host)), must be https, or set \"insecure_http\": true"
                )
                return nil
            }
        }
        return .url(url, mayBePlain: mayBePlain)
    }

    private func unixTarget(
        _ value: ConfigurationValue,
        _ object: ConfigurationObject
    ) -> EndpointConfiguration.Target? {
        let socket = socketPath(value)
        if object.required("protocol", "\"http\" or \"ndjson\"")?.word(of: ["http", "ndjson"]) == "ndjson" {
            return streamTarget(socket, object)
        }
        object["ack"]?.reject("has a meaning only with \"protocol\": \"ndjson\", leave it out")
        var path: ByteString = "/"
        if let given = object["path"] {
            guard let text = given.text("a text such as \"/hooks\"") else { return nil }
            guard text.bytes.first == UInt8(ascii: "/"), text.bytes.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
                given.reject("is \"\(text)\", must begin with \"/\" and have no spaces, the rest percent-encoded")
                return nil
            }
            path = text
        }
        return socket.map { .unix(socket: $0, path: path) }
    }

    private func socketPath(_ value: ConfigurationValue) -> ByteString? {
        guard let path = value.text("the path of a Unix socket") else { return nil }
        guard path.bytes.first == UInt8(ascii: "/") else {
            value.reject("is \"\(path)\", must be an absolute path")
            return nil
        }
        guard path.count <= StreamTarget.maxUnixPath else {
            value.reject(
                "is \(path.count) bytes long, must have at most \(StreamTarget.maxUnixPath): put the socket elsewhere"
            )
            return nil
        }
        return path
    }

    private func streamTarget(_ socket: ByteString?, _ object: ConfigurationObject) -> EndpointConfiguration.Target? {
        for key: ByteString in ["path", "signing", "bearer", "headers", "format", "batch", "status", "conflict"] {
            object[key]?.reject("has a meaning only with HTTP, leave it out")
        }
        let words = StreamAcknowledgement.allCases.map { ByteString($0.rawValue) }
        guard let ack = object["ack"] else { return socket.map { .stream(socket: $0, .read) } }
        guard let word = ack.word(of: words).flatMap({ StreamAcknowledgement(rawValue: $0.string) }) else { return nil }
        return socket.map { .stream(socket: $0, word) }
    }

    /// Names are not looked up here.
    static func isLoopback(_ host: ByteString) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        // The connection checks the address again, so a name that begins like one gains nothing.
        return host.hasPrefix("127.")
    }
}

extension EndpointConfiguration.Target {
    fileprivate var usualConcurrency: Int {
        if case .stream = self { return StreamSettings.window }
        return EndpointConfiguration.defaultConcurrency
    }
}
