import BridgeModel
import RoomsRuntime
import Testing

@testable import BridgeDelivery

@Suite struct WebhookIDTests {
    // Computed with Python's hashlib and base64 from the rule in the documentation.
    @Test(
        "an id is derived from the position alone",
        arguments: [
            (RecordBody.event(Sample.event()), "rb_k37rpn2nfcdpmmqplswj7znfinizvtkj"),
            (.event(Sample.event(incarnation: 2)), "rb_pplw3wtmj722lnsukaeg66rsxfwmlrp5"),
            (.gap(Gap(reason: .trimmed, epoch: "xyz", from: 19, to: 31), at: 1), "rb_xguu2ea2bzxdwcuagn2ulfj7nwxb6zv6"),
            (
                .gap(Gap(reason: .wentBack, epoch: "xyz", from: 19, to: nil, incarnation: 3), at: 1),
                "rb_3hj6zbahfqtsekm5ybd62knxwurlqjmg"
            ),
            (.event(Sample.event(offset: 0)), "rb_l_k9_5"),
        ]
    )
    func derives(body: RecordBody, expected: String) {
        #expect(id(Sample.delivery(body)) == expected)
        #expect(id(Sample.delivery(seq: 3, body)) == expected)
    }

    @Test("empty names, bytes beyond ASCII and the greatest offset")
    func derivesExtremes() {
        var delivery = Sample.delivery(.event(Sample.event(epoch: "", offset: .max)))
        delivery.room = RoomKey(server: "", room: "\u{e9}")
        #expect(id(delivery) == "rb_326ezx44te4bmflhj5dsciksvrgdekhj")
        delivery.room = RoomKey(server: "", room: "e\u{301}")
        #expect(id(delivery) != "rb_326ezx44te4bmflhj5dsciksvrgdekhj")
    }

    private func id(_ delivery: PendingDelivery) -> String {
        var text = Array("old".utf8)
        WebhookID(storeID: "k9").write(delivery, into: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
