import Foundation
import RoomsRuntime
import Testing

@Suite struct SignalSourceTests {
    @Test func `signals wait until they are asked for`() {
        let source = SignalSource([SIGUSR1, SIGUSR2])
        #expect(source.next() == nil)
        raise(SIGUSR2)
        #expect(source.next() == SIGUSR2)
        #expect(source.next() == nil)
        source.release()
    }

    @Test func `a released signal has its default effect`() async {
        await #expect(processExitsWith: .signal(SIGUSR1)) {
            let source = SignalSource([SIGUSR1])
            raise(SIGUSR1)
            source.release()
        }
    }

    @Test func `a thread that runs a loop itself is the loop's until it stops`() {
        let loop = EventLoop(name: "main")
        let seen = Lock<[Bool]>([])
        loop.post { seen.withLock { $0.append(loop.isOnLoop) } }
        #expect(!loop.isOnLoop)
        loop.stop()
        loop.run()
        #expect(seen.withLock { $0 } == [true])
        #expect(!loop.isOnLoop)
    }
}
