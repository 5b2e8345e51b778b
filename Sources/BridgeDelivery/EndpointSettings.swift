package import BridgeModel
package import RoomsHTTP
package import RoomsRuntime
package import RoomsTransport

/// One endpoint as the dispatcher needs it; checked where the configuration is read.
package struct EndpointSettings: Sendable {
    package var id: EndpointID
    /// The key under `endpoints`, for log lines.
    package var name: ByteString
    package var target: StreamTarget
    /// Path and query, as they stand in the request line.
    package var path: ByteString
    /// The value of the `host` header.
    package var host: ByteString
    /// The newest first; none: unsigned.
    package var signing: [SigningKey]
    /// Fields that every request carries, among them `authorization`.
    package var headers: [Header] = []
    package var userAgent: ByteString = "roombridge"
    package var format = DeliveryFormat.standard
    /// Nil: each event for itself.
    package var batch: BatchLimits? {
        didSet {
            guard let batch else { return }
            laneBytes = max(laneBytes, 2 * batch.maxBytes)
            totalBytes = max(totalBytes, 2 * laneBytes)
        }
    }
    /// Lines on one connection in place of HTTP requests.
    package var stream: StreamSettings?
    /// Attempts at a time, one for each room at most.
    package var concurrency = 8
    package var timeouts: DeliveryTimeouts
    package var retry = RetrySchedule()
    /// What the operator says of single statuses.
    package var statusPolicy = StatusPolicy()
    /// Whether an event that is refused for good becomes a dead letter; else its room waits.
    package var givesUp = true
    /// Whether one that fails while others are accepted does, too.
    package var infersPoison = false
    /// What one room may keep in memory, and all rooms of the endpoint together; the store has the rest.
    package var laneBytes = 256 * 1024
    package var totalBytes = 8 * 1024 * 1024

    package struct Header: Hashable, Sendable {
        package var name: ByteString
        package var value: Secret

        package init(name: ByteString, value: Secret) {
            self.name = name
            self.value = value
        }
    }

    package init(
        id: EndpointID,
        name: ByteString,
        target: StreamTarget,
        path: ByteString,
        host: ByteString,
        signing: [SigningKey] = []
    ) {
        self.id = id
        self.name = name
        self.target = target
        self.path = path
        self.host = host
        self.signing = signing
        timeouts = target.unixPath == nil ? .tcp : .unix
    }

    /// The part of the head that is the same in every request.
    ///
    /// Whoever reads a configuration calls this to find out what cannot stand in a request.
    package func requestBeginning() throws(RequestError) -> RequestHead {
        var head = try RequestHead(method: "POST", target: path, host: host)
        if let type = batch == nil ? format.contentType : format.batchContentType {
            try head.add("content-type", type)
        }
        try head.add("user-agent", userAgent)
        try head.add("accept", "application/json")
        for header in headers { try head.add(foreign: header.name, ByteString(header.value.bytes)) }
        return head
    }
}

/// How long the parts of a delivery may take.
package struct DeliveryTimeouts: Hashable, Sendable {
    /// Resolving, connecting and the TLS handshake.
    package var connect: Duration
    /// From the request to the end of the answer's head.
    package var head: Duration
    package var total: Duration
    /// An unused connection is closed after this: shortly before most servers would do it.
    package var idle: Duration

    package init(
        connect: Duration,
        head: Duration = .seconds(15),
        total: Duration = .seconds(30),
        idle: Duration
    ) {
        self.connect = connect
        self.head = head
        self.total = total
        self.idle = idle
    }

    package static let tcp = DeliveryTimeouts(connect: .seconds(5), idle: .seconds(4))
    package static let unix = DeliveryTimeouts(connect: .seconds(1), idle: .seconds(30))
}
