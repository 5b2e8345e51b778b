import BridgeSystemd
import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@Suite struct ServiceNotifierTests {
    @Test func `the messages reach the manager's socket as sd_notify writes them`() throws {
        let folder = try TemporaryDirectory()
        let manager = try ManagerSocket(folder.file("notify"))
        let notifier = ServiceNotifier(address: ByteString(folder.file("notify")))
        #expect(notifier.isSupervised)
        #expect(notifier.ready(status: "2 of 3 rooms joined"))
        #expect(notifier.status("3 of 3 rooms joined"))
        #expect(notifier.stopping(status: "finishing"))
        #expect(manager.next() == "READY=1\nSTATUS=2 of 3 rooms joined")
        #expect(manager.next() == "STATUS=3 of 3 rooms joined")
        #expect(manager.next() == "STOPPING=1\nSTATUS=finishing")
        #expect(manager.next() == nil)
    }

    @Test func `an abstract socket is reached by its name behind an at sign`() throws {
        let name = "@roombridge-test-\(UUID().uuidString)"
        let manager = try ManagerSocket(name)
        #expect(ServiceNotifier(address: ByteString(name)).status("hello"))
        #expect(manager.next() == "STATUS=hello")
    }

    @Test func `foreign text cannot forge a message`() throws {
        let folder = try TemporaryDirectory()
        let manager = try ManagerSocket(folder.file("notify"))
        ServiceNotifier(address: ByteString(folder.file("notify"))).status("room \"x\nREADY=1\"")
        #expect(manager.next() == "STATUS=room \"x\\xaREADY=1\"")
    }

    @Test(arguments: [nil, "", "/nonexistent/notify", "/" + String(repeating: "n", count: 200)] as [String?])
    func `without a manager nothing is sent and nothing fails`(_ address: String?) {
        #expect(!ServiceNotifier(address: address.map { ByteString($0) }).ready(status: "x"))
    }

    @Test func `a manager that does not read does not hold anything up`() throws {
        let folder = try TemporaryDirectory()
        let manager = try ManagerSocket(folder.file("notify"))
        let notifier = ServiceNotifier(address: ByteString(folder.file("notify")))
        // The queue of a datagram socket holds a few hundred messages at most.
        let sent = (0..<10_000).prefix { _ in notifier.status("on and on") }.count
        #expect(sent < 10_000)
        #expect(manager.next() == "STATUS=on and on")
        #expect(notifier.status("there is room again"))
    }
}

/// What a service manager listens on.
private final class ManagerSocket {
    private let descriptor: Int32

    init(_ name: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name.utf8) }
        var length = 2 + name.utf8.count
        if name.hasPrefix("@") { address.sun_path.0 = 0 } else { length += 1 }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(length)) }
        }
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }
}
