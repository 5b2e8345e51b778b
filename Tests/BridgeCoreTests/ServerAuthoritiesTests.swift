import BridgeTestSupport
import Foundation
import RoomsRuntime
import RoomsTransport
import Testing

@testable import BridgeCore

@Suite struct ServerAuthoritiesTests {
    private final class Lines: LogSink {
        let all = Lock<[String]>([])

        func write(_ records: [LogRecord]) {
            all.withLock { lines in for record in records { lines.append("\(record.message)") } }
        }
    }

    @Test func `the last good authorities stay in use, with one warning`() async throws {
        let folder = try TemporaryDirectory()
        let (first, second) = (try await TestAuthority(), try await TestAuthority())
        let text = { (authority: TestAuthority) in try String(contentsOfFile: authority.file, encoding: .utf8) }
        let lines = Lines()
        let queue = LogQueue(sink: lines)
        try folder.write(text(first), to: "ca.pem")
        let path = ByteString(folder.file("ca.pem"))
        let authorities = ServerAuthorities(path, logger: Logger(queue: queue, level: .info))
        #expect(authorities.tls == TLSSettings(authorities: ByteString(try text(first))))
        try folder.write("garbage", to: "ca.pem")
        #expect(authorities.tls == TLSSettings(authorities: ByteString(try text(first))))
        #expect(authorities.tls == TLSSettings(authorities: ByteString(try text(first))))
        try folder.write(text(second), to: "ca.pem")
        #expect(authorities.tls == TLSSettings(authorities: ByteString(try text(second))))
        try FileManager.default.removeItem(atPath: folder.file("ca.pem"))
        #expect(authorities.tls == TLSSettings(authorities: ByteString(try text(second))))
        // What was never good is left to libcurl, which refuses it.
        let never = ServerAuthorities(path, logger: Logger(queue: queue, level: .info))
        #expect(never.tls == TLSSettings(authorityFile: path.string))
        queue.close()
        #expect(lines.all.withLock { $0.count } == 3, "garbage, gone, never there")
    }
}
