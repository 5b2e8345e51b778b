package import RoomsRuntime

/// A room of one server: the key under `servers` in the configuration, and the room's name as bytes.
package struct RoomKey: Hashable, Sendable {
    package var server: ByteString
    package var room: ByteString

    package init(server: ByteString, room: ByteString) {
        self.server = server
        self.room = room
    }
}

/// The store's number for a room; stable for the life of the state directory.
package struct RoomID: Hashable, Sendable, Comparable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: RoomID, right: RoomID) -> Bool { left.rawValue < right.rawValue }
}

/// The store's number for an endpoint; stable for the life of the state directory.
package struct EndpointID: Hashable, Sendable, Comparable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: EndpointID, right: EndpointID) -> Bool { left.rawValue < right.rawValue }
}

/// The store's number for an event row: global commit order, never used again.
package struct RowID: Hashable, Sendable, Comparable {
    package let rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package static func < (left: RowID, right: RowID) -> Bool { left.rawValue < right.rawValue }
}

/// One (endpoint, room): the unit of order.
package struct Lane: Hashable, Sendable {
    package var endpoint: EndpointID
    package var room: RoomID

    package init(endpoint: EndpointID, room: RoomID) {
        self.endpoint = endpoint
        self.room = room
    }
}

/// How far a room is committed here.
package struct Position: Hashable, Sendable {
    package var epoch: ByteString
    package var offset: UInt64
    /// How often the stream was seen to go back within one epoch.
    package var incarnation: UInt32

    package init(epoch: ByteString, offset: UInt64, incarnation: UInt32 = 0) {
        self.epoch = epoch
        self.offset = offset
        self.incarnation = incarnation
    }
}
