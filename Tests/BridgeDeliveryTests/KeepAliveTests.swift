import RoomsRuntime
import Testing

@testable import BridgeDelivery

@Suite struct KeepAliveTests {
    @Test(arguments: [
        ("timeout=5", Int64(5)), ("timeout=5, max=100", 5), ("max=100,timeout = 7", 7), ("timeout=0", 0),
        ("timeout=-3", 0), ("max=3", nil), ("timeout=", nil), ("timeout=5s", nil), ("", nil),
        ("timeout=99999999999999999999", nil),
    ])
    func `the time-out is read, whatever stands beside it`(field: String, seconds: Int64?) {
        #expect(KeepAlive.timeout(ByteString(field)) == seconds)
    }
}
