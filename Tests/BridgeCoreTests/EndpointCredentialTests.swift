import BridgeDelivery
import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeCore

/// What an endpoint is spoken to with, from the configuration on.
@Suite struct EndpointCredentialTests {
    private static let first = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let second = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func write(_ text: String, to name: String) throws {
        try folder.write(text, to: name)
        let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        try FileManager.default.setAttributes(mode, ofItemAtPath: folder.file(name))
    }

    private func endpoint(_ options: String) throws -> EndpointConfiguration {
        let text = """
            {"servers": {"main": {"url": "ws://127.0.0.1:8000/ws"}},
             "endpoints": {"app": {"url": "https://127.0.0.1/", \(options)}}, "rooms": [{"room": "shop", "to": ["app"]}]}
            """
        let secrets = SecretSource { _ in nil }
        let file = ByteString(folder.file("config.json"))
        return try ConfigurationDecoder.decode(Array(text.utf8), file: file, secrets: secrets).endpoints[0]
    }

    private func problems(_ options: String) -> [String] {
        let error = #expect(throws: ConfigurationError.self) { try endpoint(options) }
        return error?.issues.map(\.message) ?? []
    }

    @Test func `secrets in use are read, one whose end has come need not be there`() throws {
        try write(Self.first, to: "new")
        try write(Self.second, to: "old")
        let endpoint = try endpoint(
            #""signing": [{"file": "new"}, {"file": "old", "until": "9999-01-01T00:00:00Z"}, {"file": "gone", "until": "2020-01-01T00:00:00Z"}]"#
        )
        let keys = try endpoint.credentials(SecretSource { _ in nil }).signing
        var old = try SigningSecret.decode(Secret(Self.second))
        old.until = Timestamp.milliseconds("9999-01-01T00:00:00Z")
        #expect(keys == [try SigningSecret.decode(Secret(Self.first)), old])
        #expect(endpoint.credentialFiles == Set(["new", "old", "gone"].map { ByteString(folder.file($0)) }))
    }

    @Test func `a token and other fields become headers`() throws {
        try write("abc\n", to: "token")
        try write("x y", to: "key")
        let endpoint = try endpoint(#""bearer": {"file": "token"}, "headers": {"X-Key": {"file": "key"}}"#)
        let headers = try endpoint.credentials(SecretSource { _ in nil }).headers
        #expect(headers.map(\.name) == ["authorization", "x-key"])
        #expect(headers.map(\.value) == [Secret("Bearer abc"), Secret("x y")])
        try write("a b", to: "token")
        try write("a\nb", to: "key")
        #expect(
            problems(#""bearer": {"file": "token"}, "headers": {"X-Key": {"file": "key"}}"#) == [
                "has a space, a line end or another character in it that no token has, must be the token alone",
                "has a line end or another control character in it, must be one line",
            ]
        )
        #expect(throws: InputError.self) { try endpoint.credentials(SecretSource { _ in nil }) }
    }

    @Test func `certificates and their key are read, and have to go together`() async throws {
        let authority = try await TestAuthority()
        let (own, other) = (try await authority.issue("own"), try await authority.issue("other"))
        let text = { (file: String) in try String(contentsOfFile: file, encoding: .utf8) }
        try write(text(authority.file), to: "ca.pem")
        try write(text(own.certificateFile), to: "own.pem")
        try write(text(own.keyFile), to: "own.key")
        let options =
            #""ca": "ca.pem", "client_certificate": "own.pem", "client_key": {"file": "own.key"}"#
        let endpoint = try endpoint(options)
        let tls = try endpoint.credentials(SecretSource { _ in nil }).tls
        #expect(tls.authorities == ByteString(try text(authority.file)))
        #expect(tls.identity?.certificates == ByteString(try text(own.certificateFile)))
        #expect(endpoint.credentialFiles.count == 3)
        try write(text(other.keyFile), to: "own.key")
        let place = folder.file("own.pem")
        #expect(
            problems(options) == [
                "holds a private key that does not belong to the first certificate in \(place), must be its own"
            ]
        )
        try write("no key", to: "own.key")
        try write("nothing", to: "ca.pem")
        #expect(
            problems(options) == [
                "\(folder.file("ca.pem")) holds no certificate, must be a PEM file",
                "holds no private key, must be one as PEM",
            ]
        )
    }
}
