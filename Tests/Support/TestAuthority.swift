import Foundation

/// A certificate authority made for one test with the `openssl` program.
package final class TestAuthority: Sendable {
    package struct Certificate: Sendable {
        package let certificateFile: String
        package let keyFile: String
    }

    private let directory: TemporaryDirectory

    /// The authority's own certificate, for clients to trust.
    package var file: String { directory.file("ca.pem") }

    package init() async throws {
        directory = try TemporaryDirectory()
        try directory.write(
            """
            [ca]
            default_ca = test
            [test]
            database = \(directory.file("index"))
            new_certs_dir = \(directory.path)
            certificate = \(directory.file("ca.pem"))
            private_key = \(directory.file("ca.key"))
            rand_serial = yes
            default_md = sha256
            unique_subject = no
            copy_extensions = copy
            policy = any
            [any]
            commonName = supplied
            """,
            to: "ca.conf"
        )
        try directory.write("", to: "index")
        try await openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=Test Authority", "-keyout", directory.file("ca.key"), "-out", file,
        ])
    }

    /// A server's certificate for `names` ("DNS:…", "IP:…"), already run out when told so.
    package func issue(
        _ name: String,
        for names: String = "DNS:localhost,IP:127.0.0.1",
        isExpired: Bool = false
    ) async throws
        -> Certificate
    {
        let key = directory.file(name + ".key")
        let request = directory.file(name + ".csr")
        let certificate = directory.file(name + ".pem")
        try await openssl([
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)",
            "-addext",
            "subjectAltName=\(names)", "-keyout", key, "-out", request,
        ])
        try await openssl([
            "ca", "-batch", "-notext", "-config", directory.file("ca.conf"), "-in", request, "-out", certificate,
            "-startdate", "20200101000000Z", "-enddate", isExpired ? "20210101000000Z" : "20990101000000Z",
        ])
        return Certificate(certificateFile: certificate, keyFile: key)
    }

    /// A certificate that nobody but itself vouches for.
    package func selfSigned(
        _ name: String,
        for names: String = "DNS:localhost,IP:127.0.0.1"
    ) async throws -> Certificate {
        let certificate = Certificate(
            certificateFile: directory.file(name + ".pem"),
            keyFile: directory.file(name + ".key")
        )
        try await openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj",
            "/CN=\(name)", "-addext", "subjectAltName=\(names)", "-keyout", certificate.keyFile, "-out",
            certificate.certificateFile,
        ])
        return certificate
    }

    private func openssl(_ arguments: [String]) async throws {
        let child = try ChildProcess("openssl", arguments)
        let exit = try await child.wait(within: .seconds(30))
        guard exit == .status(0) else {
            throw ChildProcess.Failure("openssl \(arguments[0]): \(exit)\n\(child.output)")
        }
    }
}
