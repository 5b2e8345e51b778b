import BridgeModel
import RoomsRuntime
import Testing

@testable import BridgeDelivery

@Suite struct StreamLineWriterTests {
    private func line(_ delivery: PendingDelivery, number: UInt64?, isProtocol: Bool, attempt: Int = 2) -> String {
        var text: [UInt8] = []
        let consignment = Consignment(
            attempt: EndpointStateMachine.Attempt(lane: 0, number: attempt, serial: 1, epoch: 0),
            delivery: delivery,
            previousSeq: 39,
            skipped: 1,
            wallTime: 0
        )
        StreamLineWriter(storeID: "k9").append(consignment, number: number, isProtocol: isProtocol, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private func standard(_ delivery: PendingDelivery) -> String {
        var id: [UInt8] = []
        WebhookID(storeID: "k9").write(delivery, into: &id)
        var text: [UInt8] = []
        StandardBody.append(delivery, RecordContext(id: id, previousSeq: 39, skipped: 1), to: &text)
        return String(decoding: text.dropFirst(), as: UTF8.self) + "\n"
    }

    @Test("a line is the standard object with the stream's own members in front")
    func members() {
        let delivery = Sample.delivery()
        let rest = standard(delivery)
        #expect(line(delivery, number: nil, isProtocol: false) == #"{"attempt":2,"# + rest)
        #expect(line(delivery, number: 7, isProtocol: false) == #"{"n":7,"attempt":2,"# + rest)
        #expect(line(delivery, number: 7, isProtocol: true) == #"{"op":"event","n":7,"attempt":2,"# + rest)
    }

    @Test("a dead letter that is sent again out of order says so, in order it does not", arguments: [true, false])
    func replay(isInOrder: Bool) {
        var delivery = Sample.delivery()
        delivery.retry = DeadLetterRetry(number: 3, run: "r1", isInOrder: isInOrder)
        let mark = isInOrder ? "" : #""replay":"r1","#
        #expect(
            line(delivery, number: 7, isProtocol: true) == #"{"op":"event","n":7,"attempt":2,"# + mark
                + standard(delivery)
        )
    }
}
