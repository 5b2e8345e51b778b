internal import RoomsRuntime

extension ByteString {
    /// How many bytes have to be put in, taken away or changed to get `other` (Levenshtein).
    func distance(to other: ByteString) -> Int {
        var row = Array(0...other.count)
        for (index, byte) in bytes.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for place in other.bytes.indices {
                let replaced = diagonal + (byte == other.bytes[place] ? 0 : 1)
                diagonal = row[place + 1]
                row[place + 1] = min(replaced, row[place] + 1, diagonal + 1)
            }
        }
        return row[other.count]
    }
}
