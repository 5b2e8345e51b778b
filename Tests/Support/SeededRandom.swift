/// Random numbers that are the same in each run (SplitMix64).
package struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }

    /// True once in `count` times.
    package mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }

    /// `bytes` with one to four random changes: a byte replaced, put in or taken out, a piece repeated, the end cut off.
    package mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &self) where !bytes.isEmpty {
            let place = Int.random(in: 0..<bytes.count, using: &self)
            switch Int.random(in: 0..<6, using: &self) {
            case 0: bytes[place] = UInt8.random(in: 0...255, using: &self)
            case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &self)
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &self), at: place)
            case 3: bytes.remove(at: place)
            case 4:
                let end = min(bytes.count, place + Int.random(in: 1...16, using: &self))
                bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
            default: bytes.removeLast(Int.random(in: 0...min(8, bytes.count), using: &self))
            }
        }
        return bytes
    }
}
