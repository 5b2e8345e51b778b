import RoomsWire
import Testing

@Suite struct CloseCodeTests {
    @Test(
        "a client reconnects after a close unless its code says that the same would come again",
        arguments: [
            (1000, false), (1001, false), (1006, false), (1008, false), (1009, true), (1011, false), (2999, false),
            (3000, false), (3001, false), (3004, false), (3005, false), (3008, false), (3014, false), (3499, false),
            (3500, true), (3501, true), (3503, true), (3504, true), (3509, true), (3999, true), (4000, false),
            (4499, false), (4500, true), (4999, true), (5000, false), (65_535, false), (0, false),
        ] as [(UInt16, Bool)]
    )
    func terminal(code: UInt16, isTerminal: Bool) {
        #expect(CloseCode.isTerminal(code) == isTerminal)
        #expect(CloseCode.reconnects(code) == !isTerminal)
    }

    @Test("a close with 3008, 3009 or no code at all may mean that too much was asked for at once")
    func overload() {
        #expect([1000, 1006, 3001, 3008, 3009, 3012].filter { CloseCode.isOverload($0) } == [1006, 3008, 3009])
    }

    @Test(
        "an ended subscription is taken up again from 2500 on",
        arguments: [(0, false), (2000, false), (2499, false), (2500, true), (2502, true), (2999, true)]
            as [(UInt32, Bool)]
    )
    func resubscribes(code: UInt32, resubscribes: Bool) {
        #expect(UnsubscribeCode.resubscribes(code) == resubscribes)
    }
}
