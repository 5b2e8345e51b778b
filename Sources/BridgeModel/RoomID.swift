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
