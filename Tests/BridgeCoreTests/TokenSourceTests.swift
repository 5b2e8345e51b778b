import BridgeTestSupport
import Foundation
import Rooms
import RoomsRuntime
import Testing

@testable import BridgeCore

@Suite struct TokenSourceTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func write(_ text: String, to name: String) throws -> SecretReference {
        try folder.write(text, to: name)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file(name))
        return .file(ByteString(folder.file(name)))
    }

    @Test("C58: own tokens are signed with the secret as it is in the file now, and given ones are read anew each time")
    func reread() throws {
        let reference = try write("first", to: "secret")
        let source = Authentication.signing(user: "bridge", secret: reference, subscriptionSecret: nil)
            .tokenSource(secrets: SecretSource { _ in nil }, wallClock: { 1_000_000 })
        let first = TokenSigner(user: "bridge", secret: Secret("first"))
        #expect(try source.connection() == first.connectionToken(now: 1_000_000))
        #expect(try source.subscription("shop") == first.subscriptionToken(room: "shop", now: 1_000_000))
        _ = try write("second", to: "secret")
        let second = TokenSigner(user: "bridge", secret: Secret("second"))
        #expect(try source.connection() == second.connectionToken(now: 1_000_000))
        let given = Authentication.tokens(
            connection: try write("c1", to: "connection"),
            rooms: ["shop": try write("s1", to: "shop")]
        )
        .tokenSource(secrets: SecretSource { _ in nil })
        #expect(try given.connection() == Secret("c1") && given.subscription("shop") == Secret("s1"))
        _ = try write("c2", to: "connection")
        _ = try write("s2", to: "shop")
        #expect(try given.connection() == Secret("c2") && given.subscription("shop") == Secret("s2"))
    }

    @Test func `a secret that went away is an error of that token, not of the process`() throws {
        let reference = try write("first", to: "secret")
        let source = Authentication.signing(user: "u", secret: reference, subscriptionSecret: nil)
            .tokenSource(secrets: SecretSource { _ in nil })
        try FileManager.default.removeItem(atPath: folder.file("secret"))
        #expect(throws: InputError.self) { try source.connection() }
    }

    @Test func `given tokens are handed on as they are, rooms without one get none`() throws {
        let source = Authentication.tokens(
            connection: .environment("C"),
            rooms: ["shop": .environment("S"), "caf\u{e9}": .environment("C")]
        )
        .tokenSource(secrets: SecretSource { ["C": "c", "S": "s"][$0] })
        #expect(try source.connection() == Secret("c"))
        #expect(try source.subscription("shop") == Secret("s"))
        #expect(try source.subscription("other") == nil)
        #expect(try source.subscription("cafe\u{301}") == nil, "names are bytes")
        let anonymous = Authentication.anonymous.tokenSource(secrets: SecretSource { _ in nil })
        #expect(try anonymous.connection() == nil)
        #expect(try anonymous.subscription("shop") == nil)
    }
}
