import Foundation

/// A program that ends TLS and passes the bytes on to a plain port of 127.0.0.1 (Python's `ssl` module).
package final class TLSFront: Sendable {
    package let port: UInt16
    private let child: ChildProcess
    private let directory: TemporaryDirectory

    package init(to target: UInt16, certificate: TestAuthority.Certificate, clientAuthority: String? = nil) async throws
    {
        directory = try TemporaryDirectory()
        let program = try directory.write(Self.program, to: "front.py")
        child = try ChildProcess(
            "python3",
            ["-u", program, String(target), certificate.certificateFile, certificate.keyFile, clientAuthority ?? ""]
        )
        let line = try await child.line(containing: "listens on ", within: .seconds(30))
        port = UInt16(line.split(separator: " ").last ?? "") ?? 0
    }

    /// Stands still, so that what the client sends piles up.
    package func pause() { child.signal(SIGSTOP) }
    package func resume() { child.signal(SIGCONT) }

    private static let program = """
        import socket, ssl, sys, threading

        target, certificate, key, authority = sys.argv[1:5]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        if authority:
            context.load_verify_locations(authority)
            context.verify_mode = ssl.CERT_REQUIRED

        def pump(source, sink):
            try:
                while data := source.recv(65536):
                    sink.sendall(data)
            except OSError:
                pass
            for end in (source, sink):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        def serve(plain):
            try:
                client = context.wrap_socket(plain, server_side=True)
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", int(target)))
            threading.Thread(target=pump, args=(client, server), daemon=True).start()
            pump(server, client)

        listener = socket.create_server(("127.0.0.1", 0))
        print("listens on", listener.getsockname()[1])
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """
}
