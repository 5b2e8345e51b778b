import BridgeModel
import Testing

@testable import BridgeCore

@Suite struct RoomAttendanceTests {
    private static let (a, b, c) = (EndpointID(1), EndpointID(2), EndpointID(3))

    private func rest(_ rooms: Int...) -> [RoomAttendance.Change] {
        rooms.map { RoomAttendance.Change(room: $0, isResting: true) }
    }

    private func join(_ rooms: Int...) -> [RoomAttendance.Change] {
        rooms.map { RoomAttendance.Change(room: $0, isResting: false) }
    }

    @Test func `a room is left while any of its endpoints holds too much`() {
        var attendance = RoomAttendance(endpoints: [[Self.a], [Self.a, Self.b], [Self.b], []])
        #expect(attendance.endpoint(Self.a, isCrowded: true) == rest(0, 1))
        #expect(attendance.endpoint(Self.b, isCrowded: true) == rest(2))
        #expect((0..<4).map { attendance.isResting($0) } == [true, true, true, false])
        #expect(attendance.endpoint(Self.a, isCrowded: false) == join(0))
        #expect(attendance.endpoint(Self.b, isCrowded: false) == join(1, 2))
        #expect(attendance.endpoint(Self.c, isCrowded: true).isEmpty)
    }
}
