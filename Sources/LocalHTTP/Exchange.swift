internal import CMicrohttpd
internal import Glibc
internal import RoomsRuntime

/// One request as libmicrohttpd hands it over piece by piece, until its answer is queued.
final class Exchange {
    let server: HTTPServer
    private let method: ByteString
    private let path: ByteString
    private var body: [UInt8] = []
    private var isAnswered = false
    private var accept: ((UpgradedSocket) -> Void)?
    /// The answer that was waited for.
    private var late: HTTPResponse?

    init(server: HTTPServer, method: UnsafePointer<CChar>, path: UnsafePointer<CChar>) {
        self.server = server
        self.method = ByteString(String(cString: method))
        self.path = ByteString(copying: UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }

    /// The head is here; true when the request was refused already.
    func begin(_ connection: OpaquePointer) -> Bool {
        let declared = headers(connection).first { $0.name == "content-length" }
        guard let declared, (Int(declared.value.string) ?? .max) > server.settings.bodyLimit else { return true }
        return answer(connection, .text("the body is too large\n", status: 413))
    }

    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isAnswered else { return true }
        guard body.count + bytes.count <= server.settings.bodyLimit else { return false }
        body.append(contentsOf: bytes)
        return true
    }

    /// The request is complete.
    func finish(_ connection: OpaquePointer) -> Bool {
        guard !isAnswered else { return true }
        if let late = late.take() { return answer(connection, late) }
        let request = HTTPRequest(
            method: method,
            path: path,
            query: values(connection, .GET_ARGUMENT_KIND),
            headers: headers(connection),
            body: body
        )
        body = []
        let response = server.handler(request)
        guard case .later(let start) = response.kind else { return answer(connection, response) }
        server.suspend(self, connection)
        start { [self] in late(connection, $0) }
        return true
    }

    func upgraded(_ socket: UpgradedSocket) {
        accept?(socket)
        accept = nil
    }

    /// Ends the wait; nothing when the server ended it before.
    func late(_ connection: OpaquePointer, _ response: HTTPResponse) {
        guard late == nil, server.resume(self, connection) else { return }
        late = response
    }

    private func answer(_ connection: OpaquePointer, _ response: HTTPResponse) -> Bool {
        isAnswered = true
        let handle: OpaquePointer?
        switch response.kind {
        case .body(let bytes):
            handle = bytes.withUnsafeBytes { bytes in
                // It copies; the pointer is mutable only because other modes take the memory over.
                MHD_create_response_from_buffer(
                    bytes.count,
                    UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                    .RESPMEM_MUST_COPY
                )
            }
        case .upgrade(let accept):
            self.accept = accept
            handle = MHD_create_response_for_upgrade(upgradeCallback, nil)
        case .later:
            preconditionFailure("an answer that comes later has to come then")
        }
        guard let handle else { return false }
        defer { MHD_destroy_response(handle) }
        for header in response.headers {
            // Refused when a line feed is in it: then the header is missing, nothing is forged.
            _ = MHD_add_response_header(handle, header.name.string, header.value.string)
        }
        return MHD_queue_response(connection, response.status, handle) == .YES
    }

    private func headers(_ connection: OpaquePointer) -> [(name: ByteString, value: ByteString)] {
        values(connection, .HEADER_KIND).map { (HTTPRequest.lowercased($0.name), $0.value) }
    }

    private func values(_ connection: OpaquePointer, _ kind: MHD_ValueKind) -> [(name: ByteString, value: ByteString)] {
        var list = ValueList()
        withUnsafeMutablePointer(to: &list) { list in
            _ = MHD_get_connection_values_n(connection, kind, valueCallback, list)
        }
        return list.values
    }
}

private struct ValueList {
    var values: [(name: ByteString, value: ByteString)] = []
}

private func valueCallback(
    context: UnsafeMutableRawPointer?,
    kind: MHD_ValueKind,
    name: UnsafePointer<CChar>?,
    nameCount: Int,
    value: UnsafePointer<CChar>?,
    valueCount: Int
) -> MHD_Result {
    guard let list = context?.assumingMemoryBound(to: ValueList.self) else { return .NO }
    let name = ByteString(copying: UnsafeRawBufferPointer(start: name, count: name == nil ? 0 : nameCount))
    let value = ByteString(copying: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueCount))
    list.pointee.values.append((name, value))
    return .YES
}
