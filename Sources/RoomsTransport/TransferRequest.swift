internal import RoomsHTTP
package import RoomsRuntime

/// One HTTP request, and what its answer may cost.
package struct TransferRequest: Sendable {
    package enum Method: Hashable, Sendable {
        case get
        /// The only one with a body.
        case post
    }

    package var method: Method
    package var url: ServerURL
    /// More fields for the request; none of those that libcurl writes itself may be among them.
    package var headers: [HTTPHeader]
    package var body: [UInt8]
    package var tls: TLSSettings
    /// The proxy's URL; the environment's proxies are never used.
    package var proxy: String?
    /// From the look-up of the name to the last byte of the answer.
    package var timeout: Duration
    package var connectTimeout: Duration
    /// In bytes; a longer body is an error.
    package var maxBody: Int

    package init(
        _ method: Method,
        _ url: ServerURL,
        headers: [HTTPHeader] = [],
        body: [UInt8] = [],
        tls: TLSSettings = TLSSettings(),
        proxy: String? = nil,
        timeout: Duration = .seconds(10),
        connectTimeout: Duration = .seconds(5),
        maxBody: Int = 1024 * 1024
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.tls = tls
        self.proxy = proxy
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.maxBody = maxBody
    }

    private static let ownFields: Set<ByteString> = [
        "host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive", "expect",
        "proxy-authorization", "proxy-connection", "accept-encoding",
    ]

    /// The header lines as libcurl wants them, without line ends; what cannot be sent is an error.
    func headerLines() throws(TransportError) -> [[UInt8]] {
        guard !url.isWebSocket else {
            throw TransportError(.invalidTarget, "a request goes to an http:// or https:// URL")
        }
        // Without these libcurl adds fields of its own, and waits for a 100 before a large body.
        var lines = ["expect:", "accept:", "content-type:"]
        var own: [[UInt8]] = []
        for header in headers {
            let name = ByteString(
                header.name.bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
            )
            guard !Self.ownFields.contains(name) else {
                throw TransportError(.invalidTarget, "the header \(header.name) is set by the client itself")
            }
            do throws(RequestError) {
                var head = RequestHead()
                try head.add(foreign: header.name, ByteString(header.value.bytes))
                // A name with nothing but a colon would tell libcurl to leave the field out.
                let isBlank = header.value.bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 }
                own.append(isBlank ? header.name.bytes + [UInt8(ascii: ";")] : Array(head.bytes.dropLast(2)))
            } catch {
                throw TransportError(.invalidTarget, "\(header.name): \(error.message)")
            }
            lines.removeAll { name == ByteString(String($0.dropLast())) }
        }
        return lines.map { Array($0.utf8) } + own
    }
}

/// What a server answered, whatever its status; a redirect is an answer, too.
package struct TransferAnswer: Sendable {
    package var status: Int
    package var contentType: ByteString?
    /// What `retry-after` says, from the moment of the answer.
    package var retryAfter: Duration?
    package var body: [UInt8]
    /// What `date` says, in seconds since 1970.
    package var date: Int64?

    package init(
        status: Int,
        contentType: ByteString? = nil,
        retryAfter: Duration? = nil,
        body: [UInt8] = [],
        date: Int64? = nil
    ) {
        self.date = date
        self.status = status
        self.contentType = contentType
        self.retryAfter = retryAfter
        self.body = body
    }
}
