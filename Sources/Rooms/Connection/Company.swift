/// The rooms that were asked for, or heard of, on one connection.
struct Company: Equatable {
    /// The only one; nil when there is none or more.
    private(set) var sole: Int?
    private var isShared = false

    /// Nil: a room that is not ours.
    mutating func heard(_ room: Int?) {
        guard !isShared else { return }
        isShared = room == nil || (sole != nil && sole != room)
        sole = isShared ? nil : room
    }
}
