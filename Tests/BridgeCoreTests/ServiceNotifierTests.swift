import BridgeSystemd
import BridgeTestSupport
import CRoomsLinux
import Foundation
import RoomsRuntime
import Testing

/// Each test is a process of its own: the manager is found by the environment.
@Suite struct ServiceNotifierTests {
    @Test func `the messages reach the manager's socket in order`() async {
        await #expect(processExitsWith: .success) {
            let manager = try ManagerSocket.ofThisProcess()
            let notifier = ServiceNotifier()
            #expect(notifier.isSupervised)
            notifier.ready(status: "2 of 3 rooms joined")
            notifier.flush(within: .seconds(5))
            notifier.status("3 of 3 rooms joined")
            notifier.flush(within: .seconds(5))
            notifier.stopping(status: "finishing")
            notifier.flush(within: .seconds(5))
            #expect(manager.next() == "READY=1\nSTATUS=2 of 3 rooms joined")
            #expect(manager.next() == "STATUS=3 of 3 rooms joined")
            #expect(manager.next() == "STOPPING=1\nSTATUS=finishing")
            #expect(manager.next() == nil)
            exit(0)
        }
    }

    @Test func `foreign text cannot forge a message`() async {
        await #expect(processExitsWith: .success) {
            let manager = try ManagerSocket.ofThisProcess()
            let notifier = ServiceNotifier()
            notifier.status("room \"x\nREADY=1\"")
            notifier.flush(within: .seconds(5))
            #expect(manager.next() == "STATUS=room \"x\\nREADY=1\"")
            exit(0)
        }
    }

    @Test func `without a manager nothing is sent and nothing fails`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("NOTIFY_SOCKET")
            let notifier = ServiceNotifier()
            #expect(!notifier.isSupervised)
            notifier.ready(status: "x")
            notifier.flush(within: .seconds(5))
            setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1)
            let lost = ServiceNotifier()
            lost.ready(status: "x")
            lost.flush(within: .seconds(5))
            exit(0)
        }
    }

    @Test func `a manager that does not read holds nothing up, and then hears the last status`() async {
        await #expect(processExitsWith: .success) {
            let manager = try ManagerSocket.ofThisProcess()
            let notifier = ServiceNotifier()
            // The queue of a datagram socket holds a few hundred messages at most.
            for number in 1...10_000 { notifier.status("number \(number)") }
            let started = ContinuousClock.now
            notifier.flush(within: .milliseconds(50))
            #expect(ContinuousClock.now - started < .seconds(10))
            var last: String?
            while last != "STATUS=number 10000" {
                manager.waitUntilReadable()
                last = manager.next()
            }
            exit(0)
        }
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

    /// Binds a name of its own and puts it into the environment.
    static func ofThisProcess() throws -> ManagerSocket {
        let name = "@roombridge-test-\(UUID().uuidString)"
        setenv("NOTIFY_SOCKET", name, 1)
        return try ManagerSocket(name)
    }

    func waitUntilReadable() {
        var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&wanted, 1, 10_000)
    }

    func next() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer[..<count], as: UTF8.self)
    }
}
