import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@Suite struct CertificateTextTests {
    private func bytes(_ file: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(fileURLWithPath: file))) }

    @Test("certificates are counted, and one that cannot be read spoils all")
    func counts() async throws {
        let authority = try await TestAuthority()
        let own = try await authority.issue("own")
        let (ca, leaf) = (try bytes(authority.file), try bytes(own.certificateFile))
        #expect(CertificateText.count(leaf) == 1)
        #expect(CertificateText.count(leaf + ca) == 2)
        #expect(CertificateText.count(Array("# a word before\n".utf8) + leaf + Array("\nand behind".utf8)) == 1)
        #expect(CertificateText.count([]) == 0)
        #expect(CertificateText.count(Array("garbage".utf8)) == 0)
        #expect(CertificateText.count(try bytes(own.keyFile)) == 0)
        var broken = leaf
        broken[broken.count / 2] = UInt8(ascii: "!")
        #expect(CertificateText.count(ca + broken) == nil)
        #expect(CertificateText.count(ca + leaf.prefix(leaf.count / 2)) == nil)
    }

    @Test("a key belongs to the first certificate, and is readable without a password")
    func keys() async throws {
        let authority = try await TestAuthority()
        let (own, other) = (try await authority.issue("own"), try await authority.issue("other"))
        let chain = try bytes(own.certificateFile) + bytes(authority.file)
        #expect(CertificateText.flaw(of: Secret(try bytes(own.keyFile)), for: chain) == nil)
        #expect(CertificateText.flaw(of: Secret(try bytes(other.keyFile)), for: chain) == .foreign)
        #expect(CertificateText.flaw(of: Secret(try bytes(own.keyFile)), for: []) == .foreign)
        #expect(CertificateText.flaw(of: Secret("no key"), for: chain) == .unreadable)
        let folder = try TemporaryDirectory()
        let openssl = try ChildProcess(
            "openssl",
            ["pkey", "-in", own.keyFile, "-aes256", "-passout", "pass:word", "-out", folder.file("key")]
        )
        #expect(try await openssl.wait() == .status(0), "\(openssl.output)")
        #expect(CertificateText.flaw(of: Secret(try bytes(folder.file("key"))), for: chain) == .encrypted)
    }
}
