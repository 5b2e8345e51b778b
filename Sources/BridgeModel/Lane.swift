/// One (endpoint, room): the unit of order.
package struct Lane: Hashable, Sendable {
    package var endpoint: EndpointID
    package var room: RoomID

    package init(endpoint: EndpointID, room: RoomID) {
        self.endpoint = endpoint
        self.room = room
    }
}
