package import RoomsRuntime

/// The rules a hub begins with, and those that apps declare while it runs: which one is for a name.
package struct RoomRules: Sendable {
    /// What the hub was told, or has of its own accord.
    private let own: [RoomRule]
    /// The own rules give way to whatever an app declares.
    private let givesWay: Bool
    /// By app, in the order in which they came.
    private var declared: [(app: ByteString, rules: [RoomRule])] = []
    /// All but those that give way, most bytes that stand for themselves first.
    private var sorted: [RoomRule] = []

    private init(own: [RoomRule], givesWay: Bool) {
        self.own = own.sorted { $0.pattern.literalCount > $1.pattern.literalCount }
        self.givesWay = givesWay
        sort()
    }

    /// Of these no two may clash (`RoomRule.clash`), nor may any with what an app declares.
    package static func configured(_ rules: [RoomRule]) -> RoomRules {
        RoomRules(own: rules, givesWay: false)
    }

    /// Rules for names that nobody else has a rule for.
    package static func fallback(_ rules: [RoomRule]) -> RoomRules {
        RoomRules(own: rules, givesWay: true)
    }

    package func rule(for name: ByteString) -> RoomRule? {
        if let rule = sorted.first(where: { $0.pattern.matches(name) }) { return rule }
        return givesWay ? own.first { $0.pattern.matches(name) } : nil
    }

    /// Every rule that is in force.
    package var all: [RoomRule] { givesWay ? sorted + own : sorted }

    /// Puts `rules` in place of what `app` declared before.
    ///
    /// False when that changes nothing.
    package mutating func declare(_ rules: [RoomRule], by app: ByteString) throws(RoomRuleClash) -> Bool {
        let place = declared.firstIndex { $0.app == app }
        if let place, declared[place].rules == rules { return false }
        var others: [(owner: ByteString?, rule: RoomRule)] = givesWay ? [] : own.map { (nil, $0) }
        for list in declared where list.app != app { others += list.rules.map { (list.app, $0) } }
        for rule in rules {
            guard let other = others.first(where: { RoomRule.clash(in: [$0.rule, rule]) != nil }) else { continue }
            throw RoomRuleClash(pattern: rule.pattern, other: other.rule.pattern, owner: other.owner)
        }
        if let place { declared.remove(at: place) }
        if !rules.isEmpty { declared.append((app, rules)) }
        sort()
        return place != nil || !rules.isEmpty
    }

    private mutating func sort() {
        let all = (givesWay ? [] : own) + declared.flatMap(\.rules)
        sorted = all.sorted { $0.pattern.literalCount > $1.pattern.literalCount }
    }
}

/// Two lists have rules that a name could fit equally well.
package struct RoomRuleClash: Error, CustomStringConvertible {
    let pattern: RoomPattern
    let other: RoomPattern
    /// The app whose rule the other one is; nil: the hub's own configuration.
    let owner: ByteString?

    package var description: String {
        let place = owner.map { "the app \($0)" } ?? "the hub's configuration"
        return
            "some names fit both \(pattern) and \(other) of \(place): one of the two must have more bytes that stand "
            + "for themselves, or go"
    }
}
