import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

@testable import BridgeStore

/// When a disk counts as full, and what is kept for that time.
@Suite struct DiskSpaceTests {
    private static let mebibyte: UInt64 = 1 << 20

    @Test("it is full below the reserve, and has space again when it does not run out at once")
    func hysteresis() throws {
        let folder = try TemporaryDirectory()
        let free = Lock<UInt64?>(100 * Self.mebibyte)
        var space = DiskSpace(path: folder.file("store.db")) { free.withLock { $0 } }
        var now = Instant(nanoseconds: 1)
        func allows(_ mebibytes: UInt64?, wasFull: Bool) -> Bool {
            now = now + .seconds(2)
            free.withLock { $0 = mebibytes.map { $0 * Self.mebibyte } }
            return space.allowsMore(now, wasFull: wasFull)
        }
        space.takeBallast()
        #expect(allows(16, wasFull: false))
        #expect(!allows(15, wasFull: false))
        #expect(!allows(31, wasFull: true))
        #expect(allows(32, wasFull: true))
        // Its own ballast is no space.
        space.dropBallast()
        #expect(!allows(47, wasFull: true))
        #expect(allows(48, wasFull: true))
        // Who cannot be asked is tried.
        #expect(allows(nil, wasFull: false))
    }

    @Test("it is looked at once a second")
    func interval() throws {
        let folder = try TemporaryDirectory()
        let looks = Lock(0)
        var space = DiskSpace(path: folder.file("store.db")) {
            looks.withLock { $0 += 1 }
            return 1 << 40
        }
        let start = Instant(nanoseconds: 1)
        for step in 0..<100 {
            let isAllowed = space.allowsMore(start + .milliseconds(25 * step), wasFull: false)
            #expect(isAllowed)
        }
        #expect(looks.withLock { $0 } == 3)
    }

    @Test("the ballast takes its space on the disk, where there is enough")
    func ballast() throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("store.ballast")
        var scarce = DiskSpace(path: folder.file("store.db")) { 47 * Self.mebibyte }
        scarce.takeBallast()
        #expect(!FileManager.default.fileExists(atPath: path))
        var space = DiskSpace(path: folder.file("store.db"))
        space.takeBallast()
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_blocks * 512 >= 16 << 20 && status.st_mode & 0o777 == 0o600)
        space.dropBallast()
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
