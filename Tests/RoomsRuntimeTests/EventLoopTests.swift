import Glibc
import RoomsRuntime
import Testing

@Suite(.timeLimit(.minutes(1))) struct EventLoopTests {
    private func running<Value: Sendable>(
        _ body: @escaping @Sendable (EventLoop, @escaping @Sendable (Value) -> Void) -> Void
    ) async -> Value {
        let loop = EventLoop(name: "test")
        loop.start()
        let value = await withCheckedContinuation { continuation in
            loop.post { body(loop) { continuation.resume(returning: $0) } }
        }
        loop.stop()
        loop.join()
        return value
    }

    @Test func `jobs run in order on the loop's own thread`() async {
        let order = Lock<[Int]>([])
        let loop = EventLoop(name: "test")
        for number in 0..<1_000 { loop.post { order.withLock { $0.append(loop.isOnLoop ? number : -1) } } }
        loop.start()
        loop.stop()
        loop.join()
        #expect(order.withLock { $0 } == Array(0..<1_000))
        #expect(!loop.isOnLoop)
    }

    @Test func `timers come up in order and not before their time; a cancelled one never`() async {
        let log: [String] = await running { loop, done in
            let started = SystemClock.now
            let seen = Lock<[String]>([])
            loop.schedule(after: .milliseconds(20)) {
                seen.withLock { $0.append(SystemClock.now - started >= .milliseconds(20) ? "late" : "early!") }
                done(seen.withLock { $0 })
            }
            loop.cancel(loop.schedule(after: .milliseconds(5)) { seen.withLock { $0.append("cancelled!") } })
            loop.schedule(after: .milliseconds(10)) { seen.withLock { $0.append("soon") } }
        }
        #expect(log == ["soon", "late"])
    }

    @Test func `a descriptor is reported readable, and failed when its peer is gone`() async {
        let log: [Readiness] = await running { loop, done in
            var ends: [CInt] = [0, 0]
            socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
            let (ours, theirs) = (ends[0], ends[1])
            let seen = Lock<[Readiness]>([])
            loop.watch(ours, for: .readable) { readiness in
                seen.withLock { $0.append(readiness) }
                var byte: UInt8 = 0
                if read(ours, &byte, 1) == 1 {
                    close(theirs)
                } else {
                    loop.unwatch(ours)
                    close(ours)
                    done(seen.withLock { $0 })
                }
            }
            var byte: UInt8 = 7
            _ = write(theirs, &byte, 1)
        }
        #expect(log.first == .readable)
        #expect(log.last?.contains(.failed) == true)
    }

    @Test func `many puts wake the owner and none is lost`() async {
        let loop = EventLoop(name: "test")
        let inbox = Inbox<Int> { loop.wake() }
        let sum = Lock(0)
        let batch = Lock<[Int]>([])
        loop.onWake {
            var taken = batch.withLock { $0 }
            inbox.drain(into: &taken)
            sum.withLock { $0 += taken.reduce(0, +) }
        }
        loop.start()
        await withTaskGroup { group in
            for producer in 0..<4 {
                group.addTask { for number in 0..<10_000 where number % 4 == producer { inbox.put(number) } }
            }
        }
        loop.stop()
        loop.join()
        #expect(sum.withLock { $0 } == (0..<10_000).reduce(0, +))
    }

    @Test func `an inbox refuses offers at its limit, never puts, and takes again after a drain`() {
        let rings = Lock(0)
        let inbox = Inbox<Int>(limit: 10) { rings.withLock { $0 += 1 } }
        #expect(inbox.offer(1, bytes: 9))
        #expect(inbox.offer(2, bytes: 9))
        #expect(!inbox.offer(3, bytes: 1))
        inbox.put(4, bytes: 5)
        #expect(rings.withLock { $0 } == 1)
        var batch: [Int] = []
        inbox.drain(into: &batch)
        #expect(batch == [1, 2, 4])
        #expect(inbox.offer(5, bytes: 1))
        #expect(rings.withLock { $0 } == 2)
    }

    @Test func `what is bound to a loop traps elsewhere`() async {
        await #expect(processExitsWith: .failure) {
            let loop = EventLoop(name: "test")
            _ = LoopBound(1, on: loop).value
        }
    }
}
