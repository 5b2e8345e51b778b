/// What programs and editors like to do to a body on its way from the wire into a file, undone.
///
/// When the undone body fits the signature, the change is found.
enum BodyVariant: CaseIterable {
    case endRemoved
    case endAdded
    case lineEndsWidened
    case markAdded
    case spacesAdded

    /// What was done to the body.
    var story: String {
        switch self {
        case .endRemoved: "the line end at its end is gone"
        case .endAdded: "a line end was added at its end"
        case .lineEndsWidened: "LF became CR LF"
        case .markAdded: "a byte order mark was put before it"
        case .spacesAdded: "the JSON was written anew, with other white space: keep the bytes as they came"
        }
    }

    /// The bodies that `body` may have been before; none when this cannot have happened to it.
    func undone(_ body: [UInt8]) -> [[UInt8]] {
        switch self {
        case .endRemoved:
            return [body + [0x0a], body + [0x0d, 0x0a]]
        case .endAdded:
            guard body.last == 0x0a else { return [] }
            let shorter = Array(body.dropLast())
            return shorter.last == 0x0d ? [shorter, Array(shorter.dropLast())] : [shorter]
        case .lineEndsWidened:
            guard body.contains(0x0d) else { return [] }
            return [body.indices.filter { !isWideEnd(body, $0) }.map { body[$0] }]
        case .markAdded:
            return body.starts(with: [0xef, 0xbb, 0xbf]) ? [Array(body.dropFirst(3))] : []
        case .spacesAdded:
            return [Self.compact(body)]
        }
    }

    private func isWideEnd(_ body: [UInt8], _ index: Int) -> Bool {
        body[index] == 0x0d && index + 1 < body.count && body[index + 1] == 0x0a
    }

    /// Without the white space between the tokens of a JSON text.
    private static func compact(_ body: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(body.count)
        var isInString = false
        var isEscaped = false
        for byte in body {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
            } else if byte == UInt8(ascii: "\"") {
                isInString = true
            } else if byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d {
                continue
            }
            text.append(byte)
        }
        return text
    }
}
