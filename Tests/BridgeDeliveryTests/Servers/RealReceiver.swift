import BridgeTestSupport
import Foundation
import Testing

/// A receiver in a real HTTP server, which writes down the room, seq and attempt of each request and ends idle connections
/// after a moment.
final class RealReceiver {
    enum Server: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case nginx
        case node
        case php
        case python

        var testDescription: String { rawValue }

        fileprivate func find() throws -> String? {
            switch self {
            case .nginx: try RequiredProgram.nginx.find()
            case .node: try RequiredProgram.node.find()
            case .php: try RequiredProgram.php.find()
            case .python: "python3"
            }
        }
    }

    struct Entry: Equatable {
        var room: String
        var seq: Int
        var attempt: Int
    }

    let port: UInt16
    private let folder = try? TemporaryDirectory()
    private let held: HeldPort
    private let child: ChildProcess
    private let log: String

    /// Nil when it is not installed and nobody insists on it.
    init?(_ server: Server) async throws {
        guard let program = try server.find(), let folder else { return nil }
        held = try HeldPort()
        port = held.number
        log = folder.file("log")
        let file = folder.file("receiver")
        try folder.write(Self.text(server, folder, port: port), to: "receiver")
        try folder.write("", to: "log")
        let words =
            switch server {
            case .nginx: ["-c", file, "-e", "stderr"]
            case .node: ["-e", Self.node]
            case .php: ["-d", "display_errors=0", "-S", "127.0.0.1:\(port)", file]
            case .python: ["-u", file]
            }
        let child = try ChildProcess(program, words, environment: ["PORT": "\(port)", "LOG": log])
        self.child = child
        let port = port
        try await eventually("\(server)") {
            if let exit = child.exit { throw ChildProcess.Failure("\(server): \(exit)\n\(child.output)") }
            guard let connection = RawConnection(to: port) else { return false }
            connection.close()
            return true
        }
    }

    func stop() async throws { try await child.stop() }

    var entries: [Entry] {
        let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let seq = Int(words[1]), let attempt = Int(words[2]) else { return nil }
            return Entry(room: words[0], seq: seq, attempt: attempt)
        }
    }

    // MARK: their programs

    private static func text(_ server: Server, _ folder: TemporaryDirectory, port: UInt16) -> String {
        switch server {
        case .nginx: nginx(folder, port: port)
        case .node: node
        case .php: php
        case .python: python
        }
    }

    private static func nginx(_ folder: TemporaryDirectory, port: UInt16) -> String {
        let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "  \($0)_temp_path \(folder.file("nginx-" + $0));"
        }
        return """
            daemon off; master_process off; pid \(folder.file("nginx.pid")); error_log stderr warn;
            events { worker_connections 256; }
            http {
              log_format attempts '$http_roombridge_room $http_roombridge_seq $http_roombridge_attempt';
              access_log \(folder.file("log")) attempts;
              keepalive_timeout 40ms; keepalive_requests 7; lingering_close off;
            \(places.joined(separator: "\n"))
              map $http_roombridge_seq $kind { default 0; ~[147]$ 1; ~[25]$ 2; }
              server {
                listen 127.0.0.1:\(port);
                location / {
                  if ($kind = 1) { return 204; }
                  if ($kind = 2) { return 202 "a text of some length"; }
                  return 200;
                }
              }
            }
            """
    }

    /// Answers without a body, with a length, in chunks, and with the end of the connection, in turn.
    private static let node = """
        const fs = require('fs')
        const server = require('http').createServer((request, response) => {
          request.resume().on('end', () => {
            const field = name => request.headers['roombridge-' + name]
            fs.appendFileSync(process.env.LOG, `${field('room')} ${field('seq')} ${field('attempt')}\\n`)
            switch (field('seq') % 5) {
              case 0: response.writeHead(204).end(); break
              case 1: response.setHeader('content-length', 2); response.end('ok'); break
              case 2: response.write('{"a":'); setImmediate(() => response.end('1}')); break
              case 3: response.writeProcessing(); response.writeHead(202).end('later'); break
              default: response.setHeader('connection', 'close'); response.end()
            }
          })
        })
        server.keepAliveTimeout = 40
        server.maxRequestsPerSocket = 7
        server.listen(process.env.PORT, '127.0.0.1')
        process.on('SIGTERM', () => process.exit(0))
        """

    private static let php = """
        <?php
        $field = fn($name) => $_SERVER['HTTP_ROOMBRIDGE_' . $name] ?? '-';
        file_get_contents('php://input');
        file_put_contents(getenv('LOG'), "{$field('ROOM')} {$field('SEQ')} {$field('ATTEMPT')}\\n", FILE_APPEND);
        if ($field('SEQ') % 2) { http_response_code(204); } else { echo 'ok'; }
        """

    private static let python = """
        import http.server, os
        class Receiver(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            timeout = 0.04
            wbufsize = -1
            def do_POST(self):
                self.rfile.read(int(self.headers['content-length']))
                names = ('room', 'seq', 'attempt')
                values = [self.headers['roombridge-' + name] for name in names]
                with open(os.environ['LOG'], 'a') as log:
                    log.write(' '.join(values) + '\\n')
                kind = int(values[1]) % 4
                self.send_response(204 if kind == 0 else 200)
                if kind == 1:
                    self.send_header('content-length', '2')
                elif kind == 2:
                    self.send_header('transfer-encoding', 'chunked')
                elif kind == 3:
                    self.send_header('connection', 'close')
                self.end_headers()
                self.wfile.write({0: b'', 1: b'ok', 2: b'2\\r\\nok\\r\\n0\\r\\n\\r\\n', 3: b'until the end'}[kind])
            def log_message(self, *arguments):
                pass
        http.server.ThreadingHTTPServer(('127.0.0.1', int(os.environ['PORT'])), Receiver).serve_forever()
        """
}
