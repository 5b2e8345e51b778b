internal import RoomsRuntime

/// A pattern as `channels` takes it: `*` stands for any bytes, `?` for one; an empty one fits everything.
struct Glob {
    private let pattern: [UInt8]

    init(_ pattern: ByteString) {
        self.pattern = pattern.bytes
    }

    func matches(_ name: ByteString) -> Bool {
        guard !pattern.isEmpty else { return true }
        let name = name.bytes
        var (place, index) = (0, 0)
        // Where to go on when what follows the last star does not fit.
        var retry: (place: Int, index: Int)?
        while index < name.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                place += 1
                retry = (place, index)
            } else if place < pattern.count, pattern[place] == UInt8(ascii: "?") || pattern[place] == name[index] {
                place += 1
                index += 1
            } else if let last = retry {
                place = last.place
                index = last.index + 1
                retry = (place, index)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
