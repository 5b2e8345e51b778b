internal import BridgeTestSupport
internal import CRoomsLinux
internal import Foundation

/// nginx with a configuration of the test.
final class NginxProcess {
    private let folder: TemporaryDirectory
    private let child: ChildProcess

    /// `server` are the lines of the one server block; nil when nginx is not installed and nobody insists on it.
    init?(folder: TemporaryDirectory, server: String, upstream: String = "") throws {
        guard let program = try RequiredProgram.nginx.find() else { return nil }
        self.folder = folder
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "  \($0)_temp_path \(folder.file("nginx-" + $0));"
        }
        try folder.write(
            """
            daemon off; master_process off; pid \(folder.file("nginx.pid")); error_log stderr warn;
            events { worker_connections 256; }
            http {
              access_log off; client_max_body_size 64m; client_body_buffer_size 1m;
            \(places.joined(separator: "\n"))
            \(upstream)
              server { \(server) }
            }
            """,
            to: "nginx.conf"
        )
        child = try ChildProcess(program, ["-c", folder.file("nginx.conf"), "-e", "stderr"])
    }

    func waitUntilListening(on address: SocketAddress) async throws {
        try await eventually("nginx") {
            if let exit = child.exit { throw ChildProcess.Failure("nginx: \(exit)\n\(child.output)") }
            let descriptor = address.makeSocket()
            defer { close(descriptor) }
            return address.connectAtOnce(descriptor)
        }
    }

    func stop() async throws { try await child.stop() }

    /// Listens on a Unix socket and hands every request to a receiver of the test.
    ///
    /// `lines` stand in its server block.
    static func relay(
        to receiver: RecordingReceiver,
        _ lines: String = ""
    ) async throws -> (NginxProcess, SocketAddress)? {
        let folder = try TemporaryDirectory()
        let path = folder.file("http.sock")
        guard case .loopback(let port) = receiver.address else { return nil }
        let upstream = "upstream receiver { server 127.0.0.1:\(port); keepalive 16; }"
        let server =
            "listen unix:\(path); location / { proxy_pass http://receiver; proxy_http_version 1.1; "
            + "proxy_set_header Connection \"\"; } \(lines)"
        guard let nginx = try NginxProcess(folder: folder, server: server, upstream: upstream) else { return nil }
        let address = SocketAddress.unix(path: path)
        try await nginx.waitUntilListening(on: address)
        return (nginx, address)
    }
}
