internal import RoomsRuntime

/// What the rooms of one pattern keep and allow.
package struct RoomRule: Equatable, Sendable {
    /// When a subscription gets a property.
    package enum Grant: String, Sendable, CaseIterable {
        case always
        /// When the client asks.
        case ask
        case never

        func isGiven(asked: Bool) -> Bool {
            switch self {
            case .always: true
            case .ask: asked
            case .never: false
            }
        }
    }

    /// What somebody who joined a room may do in it.
    package struct Permissions: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        package static let history = Permissions(rawValue: 1)
        package static let publish = Permissions(rawValue: 2)
        package static let presence = Permissions(rawValue: 4)
    }

    package var pattern: RoomPattern
    /// How many publications a room keeps.
    package var history = 0
    /// How long it keeps them after the last one.
    package var keep = longestKeep
    /// May be joined without a subscription token.
    package var isPublic = false
    /// May be joined, if public, by a connection without a user.
    package var admitsAnonymous = true
    package var recovery = Grant.never
    package var position = Grant.never
    /// Who is in a room is known.
    package var presence = false
    /// Who hears of those who come and go.
    package var joinLeave = Grant.never
    /// How many users may be in a room at once; nil: any number.
    package var maxMembers: Int?
    package var membersMay: Permissions = []

    /// A rule with what follows from the rest where nothing else is said: a room with a history can be recovered, and
    /// members may see what is kept of it.
    package init(
        pattern: RoomPattern,
        history: Int = 0,
        keep: Duration = longestKeep,
        isPublic: Bool = false,
        recovery: Grant? = nil,
        position: Grant? = nil,
        presence: Bool = false,
        joinLeave: Grant? = nil,
        maxMembers: Int? = nil,
        membersMay: Permissions? = nil
    ) {
        self.pattern = pattern
        self.history = history
        self.keep = keep
        self.isPublic = isPublic
        self.recovery = history > 0 ? recovery ?? .always : .never
        self.position = history > 0 ? position ?? self.recovery : .never
        self.presence = presence
        self.joinLeave = presence ? joinLeave ?? .always : .never
        self.maxMembers = maxMembers
        self.membersMay = membersMay ?? [history > 0 ? .history : [], presence ? .presence : []]
    }

    /// A room keeps its events for recovery; an app that wants them for longer records them itself.
    package static let longestKeep = Duration.seconds(1_800)

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
