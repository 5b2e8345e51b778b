internal import RoomsRuntime

/// What the rooms of one pattern keep and allow.
package struct RoomRule: Sendable {
    /// When a subscription gets a property.
    package enum Grant: String, Sendable, CaseIterable {
        case always
        /// When the client asks.
        case ask
        case never
    }

    /// What somebody who joined a room may do in it.
    package struct Permissions: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        package static let history = Permissions(rawValue: 1)
        package static let publish = Permissions(rawValue: 2)
    }

    package var pattern: RoomPattern
    /// How many publications a room keeps.
    package var history = 0
    /// How long it keeps them after the last one.
    package var keep = Duration.seconds(1_800)
    /// May be joined without a subscription token.
    package var isPublic = false
    /// May be joined, if public, by a connection without a user.
    package var admitsAnonymous = true
    package var recovery = Grant.never
    package var position = Grant.never
    package var membersMay: Permissions = []

    /// A rule with what follows from the rest where nothing else is said: a room with a history can be recovered.
    package init(
        pattern: RoomPattern,
        history: Int = 0,
        keep: Duration = .seconds(1_800),
        isPublic: Bool = false,
        recovery: Grant? = nil,
        position: Grant? = nil,
        membersMay: Permissions? = nil
    ) {
        self.pattern = pattern
        self.history = history
        self.keep = keep
        self.isPublic = isPublic
        self.recovery = history > 0 ? recovery ?? .always : .never
        self.position = history > 0 ? position ?? self.recovery : .never
        self.membersMay = membersMay ?? (isPublic && history > 0 ? [.history] : [])
    }

    /// The error of the first two rules that a name could fit equally well.
    package static func clash(in rules: [RoomRule]) -> (first: Int, second: Int)? {
        for second in rules.indices {
            for first in 0..<second {
                let (left, right) = (rules[first].pattern, rules[second].pattern)
                if left.literalCount == right.literalCount, left.overlaps(right) { return (first, second) }
            }
        }
        return nil
    }
}
