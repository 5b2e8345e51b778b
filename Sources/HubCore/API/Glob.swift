internal import RoomsRuntime

/// A pattern as `channels` takes it; an empty one fits everything.
///
/// `*` stands for any bytes, `?` for one, `[abc]`, `[a-z]`, `[!abc]` for one of a set, `{a,b}` for one of several patterns,
/// and `\` takes the meaning from what follows it.
struct Glob {
    private enum Piece {
        case byte(UInt8)
        case anyByte
        case anything
        case set(Set<UInt8>, isNegated: Bool)
        case choice([[Piece]])
    }

    /// What is no pattern is the server's fault, says the real one.
    private static let broken = HubError.internalError
    private static let maximumDepth = 16

    private let pieces: [Piece]

    init(_ pattern: ByteString) throws(HubError) {
        var rest = pattern.bytes[...]
        pieces = pattern.isEmpty ? [.anything] : try Self.sequence(&rest, depth: 0)
    }

    func matches(_ name: ByteString) -> Bool {
        let bytes = name.bytes
        var places = [Bool](repeating: false, count: bytes.count + 1)
        places[0] = true
        return Self.advance(places, over: pieces, in: bytes)[bytes.count]
    }

    // MARK: matching

    /// Where one can be behind `pieces`, when `places` is where one can be before them.
    private static func advance(_ places: [Bool], over pieces: [Piece], in name: [UInt8]) -> [Bool] {
        var places = places
        for piece in pieces {
            switch piece {
            case .byte(let byte): places = step(places, in: name) { $0 == byte }
            case .anyByte: places = step(places, in: name) { _ in true }
            case .set(let set, let isNegated): places = step(places, in: name) { set.contains($0) != isNegated }
            case .anything:
                let first = places.firstIndex(of: true) ?? places.count
                for place in places.indices { places[place] = place >= first }
            case .choice(let sequences):
                let ends = sequences.map { advance(places, over: $0, in: name) }
                for place in places.indices { places[place] = ends.contains { $0[place] } }
            }
        }
        return places
    }

    private static func step(_ places: [Bool], in name: [UInt8], _ fits: (UInt8) -> Bool) -> [Bool] {
        [false] + name.indices.map { places[$0] && fits(name[$0]) }
    }

    // MARK: reading

    /// Up to the end, or in braces up to the comma or brace that ends it, which stays.
    private static func sequence(_ rest: inout ArraySlice<UInt8>, depth: Int) throws(HubError) -> [Piece] {
        var pieces: [Piece] = []
        while let byte = rest.first {
            if depth > 0, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") { break }
            rest.removeFirst()
            switch byte {
            case UInt8(ascii: "*"): pieces.append(.anything)
            case UInt8(ascii: "?"): pieces.append(.anyByte)
            case UInt8(ascii: "["): pieces.append(try set(&rest))
            case UInt8(ascii: "{"): pieces.append(try choice(&rest, depth: depth + 1))
            case UInt8(ascii: "\\"): pieces.append(.byte(try next(&rest)))
            default: pieces.append(.byte(byte))
            }
        }
        return pieces
    }

    private static func choice(_ rest: inout ArraySlice<UInt8>, depth: Int) throws(HubError) -> Piece {
        guard depth <= maximumDepth else { throw broken }
        var sequences: [[Piece]] = []
        repeat { sequences.append(try sequence(&rest, depth: depth)) } while try next(&rest) == UInt8(ascii: ",")
        return .choice(sequences)
    }

    private static func set(_ rest: inout ArraySlice<UInt8>) throws(HubError) -> Piece {
        let isNegated = rest.first == UInt8(ascii: "!")
        if isNegated { rest.removeFirst() }
        var members: Set<UInt8> = []
        if rest.dropFirst().first == UInt8(ascii: "-") {
            let low = try next(&rest)
            rest.removeFirst()
            let high = try next(&rest)
            guard low <= high, try next(&rest) == UInt8(ascii: "]") else { throw broken }
            return .set(Set(low...high), isNegated: isNegated)
        }
        while case let byte = try next(&rest), byte != UInt8(ascii: "]") {
            members.insert(byte == UInt8(ascii: "\\") ? try next(&rest) : byte)
        }
        guard !members.isEmpty else { throw broken }
        return .set(members, isNegated: isNegated)
    }

    private static func next(_ rest: inout ArraySlice<UInt8>) throws(HubError) -> UInt8 {
        guard let byte = rest.popFirst() else { throw broken }
        return byte
    }
}
