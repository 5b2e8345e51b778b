internal import RoomsHTTP
internal import RoomsRuntime
internal import RoomsTransport

/// One request for each attempt, on connections that are kept.
final class HTTPCarrier: Carrier, HTTPConnectionOwner {
    private var settings: EndpointSettings
    private let transport: TransportLoop
    private let storeID: ByteString
    private var writer: RequestWriter
    private let classifier: ResponseClassifier
    private let buffer: UnsafeMutableRawBufferPointer
    private unowned let owner: any CarrierOwner
    private var connections: [HTTPConnection] = []
    /// Those without a request, the last used at the end: it is the least likely to have been closed by the peer.
    private var free: [HTTPConnection] = []

    init(
        _ settings: EndpointSettings,
        transport: TransportLoop,
        storeID: ByteString,
        buffer: UnsafeMutableRawBufferPointer,
        owner: any CarrierOwner
    ) {
        self.settings = settings
        self.transport = transport
        self.buffer = buffer
        self.owner = owner
        self.storeID = storeID
        writer = Self.writer(settings, storeID)
        classifier = ResponseClassifier(settings.statusPolicy, givesUp: settings.givesUp)
    }

    // MARK: Carrier

    /// The machine counts the attempts.
    var canBegin: Bool { true }

    var deadline: Instant { connections.lazy.map(\.deadline).min() ?? .distantFuture }

    func begin(_ consignment: Consignment) {
        let connection = takeConnection()
        connection.attempt = consignment.attempt
        if !consignment.batch.isEmpty { return begin(consignment, on: connection) }
        writer.write(
            consignment.delivery,
            previousSeq: consignment.previousSeq,
            skipped: consignment.skipped,
            attempt: consignment.attempt.number,
            now: consignment.wallTime,
            into: &connection.request
        )
        connection.perform()
    }

    /// As much of the batch as there is room for; the attempt is then for so many.
    private func begin(_ consignment: Consignment, on connection: HTTPConnection) {
        writer.write(
            consignment.batch,
            within: consignment.batchBytes,
            previousSeq: consignment.previousSeq,
            skipped: consignment.skipped,
            attempt: consignment.attempt.number,
            now: consignment.wallTime,
            ids: &connection.batch,
            into: &connection.request
        )
        connection.attempt?.count = connection.batch.count
        connection.attempt?.bytes = writer.bodyBytes
        connection.perform()
    }

    func flush() {}

    func check(_ now: Instant) {
        for connection in connections { connection.check(now) }
    }

    func renew(_ settings: EndpointSettings) {
        let hasMoved = self.settings.target != settings.target
        self.settings = settings
        writer = Self.writer(settings, storeID)
        guard hasMoved else { return }
        for connection in connections { connection.move(to: settings.target) }
    }

    func close() {
        for connection in connections { connection.close() }
    }

    // MARK: HTTPConnectionOwner

    func finished(_ connection: HTTPConnection, _ result: AttemptResult) {
        free.append(connection)
        guard let attempt = connection.attempt.take() else { return }
        let verdict =
            settings.batch == nil ? classifier.judge(result) : classifier.judge(result, of: connection.batch)
        if verdict.refusal?.wantsNewConnection == true { connection.close() }
        owner.finished(attempt, verdict)
        owner.goOn()
    }

    func arm(_ deadline: Instant) {
        owner.arm(deadline)
    }

    func sawDate(_ date: Int64) {
        owner.sawDate(date)
    }

    func mayRetry(_ connection: HTTPConnection) -> Bool {
        connection.attempt.map { owner.mayRetry($0) } ?? false
    }

    func tookBack(_ connection: HTTPConnection) {
        free.append(connection)
        guard let attempt = connection.attempt.take() else { return }
        owner.tookBack(attempt, isCounted: false)
        owner.goOn()
    }

    /// An open one if there is one, else one that has to connect.
    private func takeConnection() -> HTTPConnection {
        if let index = free.lastIndex(where: \.isOpen) { return free.remove(at: index) }
        if let connection = free.popLast() { return connection }
        let connection = HTTPConnection(transport, settings, buffer: buffer, owner: self)
        connections.append(connection)
        return connection
    }

    private static func writer(_ settings: EndpointSettings, _ storeID: ByteString) -> RequestWriter {
        RequestWriter(
            beginning: beginning(settings),
            storeID: storeID,
            keys: settings.signing,
            format: settings.format
        )
    }

    private static func beginning(_ settings: EndpointSettings) -> RequestHead {
        do throws(RequestError) {
            return try settings.requestBeginning()
        } catch {
            preconditionFailure("the configuration let through what cannot stand in a request: \(error)")
        }
    }
}
