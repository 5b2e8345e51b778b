import RoomsRuntime
import Testing

@testable import Rooms

/// Rooms by the bytes of their names.
@Suite struct RoomIndexTests {
    private func find(_ name: ByteString, _ index: inout RoomIndex) -> Int? {
        let found = name.bytes.withUnsafeBytes { index.find($0) }
        #expect(found == index.find(name))
        return found
    }

    @Test("each room is found by its name, however many end alike", arguments: [0, 1, 20, 3_000])
    func found(_ count: Int) {
        let names = (0..<count).map { ByteString($0 % 2 == 0 ? "order:\($0)" : "room \($0) of many that end alike") }
        var index = RoomIndex(names)
        for _ in 0..<2 {
            for (room, name) in names.enumerated() { #expect(find(name, &index) == room) }
        }
        for name in ["", "order:", "order:00", "order:1\0", "alike"] as [ByteString] {
            #expect(find(name, &index) == nil)
        }
    }

    @Test("a name that goes, and comes back as another room, is not taken for the old one")
    func changed() {
        var index = RoomIndex(["order:1", "order:2"])
        #expect(find("order:1", &index) == 0)
        index.remove("order:1")
        #expect(find("order:1", &index) == nil)
        index.add("order:1", 7)
        #expect(find("order:1", &index) == 7 && find("order:2", &index) == 1)
        for room in 0..<40 { index.add(ByteString("chat:\(room)"), 100 + room) }
        #expect(find("order:1", &index) == 7 && find("chat:39", &index) == 139)
    }
}
