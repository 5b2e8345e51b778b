package import RoomsRuntime

/// Finds what was probably meant by a name that is not known.
package enum Suggestion {
    /// The nearest of `candidates`, if it is near enough to be a slip of the finger, else one that `name` abbreviates.
    package static func nearest(to name: ByteString, among candidates: [ByteString]) -> ByteString? {
        guard name.count <= 64 else { return nil }
        return slip(name, candidates) ?? candidates.first { name.count >= 3 && $0.hasPrefix(name) }
    }

    package static func nearest(to name: String, among candidates: [String]) -> String? {
        nearest(to: ByteString(name), among: candidates.map { ByteString($0) })?.string
    }

    private static func slip(_ name: ByteString, _ candidates: [ByteString]) -> ByteString? {
        let limit = min(3, (name.count + 2) / 3, name.count - 1)
        return
            candidates
            .map { (candidate: $0, distance: distance(lowered(name), lowered($0))) }
            .filter { $0.distance <= limit }
            .min { $0.distance < $1.distance }?
            .candidate
    }

    /// Insertions, deletions, substitutions and swaps of neighbours that turn one name into the other.
    static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let isSame = left[row] == right[column]
                var best = min(previous[column + 1] + 1, current[column] + 1, previous[column] + (isSame ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, beforePrevious[column - 1] + 1)
                }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }

    private static func lowered(_ name: ByteString) -> [UInt8] {
        name.bytes.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0 }
    }
}
