import BridgeModel
import BridgeTestSupport
import Testing

@testable import BridgeStore

@Suite struct EndpointMarksTests {
    private static let a = EndpointID(1)
    private static let b = EndpointID(2)

    /// What waits in all, what each endpoint has not settled, and who is over then; one after the other.
    private static let steps: [(waiting: Int64, a: Int64, b: Int64, over: Set<EndpointID>)] = [
        (0, 0, 0, []),
        // Alone it may have 0.8 of the buffer.
        (800, 800, 0, []),
        (801, 801, 0, [a]),
        // It stays over until it is below 0.6.
        (700, 700, 0, [a]),
        (600, 600, 0, [a]),
        (599, 599, 0, []),
        (700, 700, 0, []),
        (810, 810, 0, [a]),
        // The next one may have 0.8 of what is left.
        (960, 810, 150, [a]),
        (970, 810, 160, [a, b]),
        (890, 810, 80, [a]),
        (970, 810, 160, [a, b]),
        // A row of both counts once in what waits, and for each of them.
        (810, 810, 160, [a]),
        // Nothing is left: who only passes something through is not to blame.
        (1_000, 990, 40, [a]),
        (1_000, 940, 60, [a, b]),
        (940, 940, 0, [a]),
        (0, 0, 0, []),
    ]

    @Test("over at 0.8 of what the others leave, below at 0.6")
    func steps() {
        var marks = EndpointMarks(size: 1_000)
        for (number, step) in Self.steps.enumerated() {
            _ = marks.update(waiting: step.waiting, held: [Self.a: step.a, Self.b: step.b])
            #expect(marks.over == step.over, "step \(number)")
        }
    }

    @Test("each change is told once, with what the endpoint holds")
    func changes() {
        var marks = EndpointMarks(size: 1_000)
        typealias Change = EndpointMarks.Change
        let over = marks.update(waiting: 900, held: [Self.b: 5, Self.a: 900])
        #expect(over == [Change(endpoint: Self.a, isOver: true, held: 900)])
        let again = marks.update(waiting: 950, held: [Self.b: 5, Self.a: 945])
        #expect(again.isEmpty)
        let below = marks.update(waiting: 100, held: [Self.b: 5, Self.a: 95])
        #expect(below == [Change(endpoint: Self.a, isOver: false, held: 95)])
    }

    /// Events come for four endpoints of which some are down for a while; who is over gets none.
    private struct Run {
        static let size = 1_000_000
        var random: SeededRandom
        var marks = EndpointMarks(size: size)
        var held: [EndpointID: Int64] = [:]
        var down: Set<EndpointID> = []
        var isFull = false
        /// Per endpoint, how much came and went since it was last over or below.
        var moved: [EndpointID: Int64] = [:]
        var waiting: Int64 { held.values.reduce(0, +) }

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            for id in 1...4 { held[EndpointID(Int64(id))] = 0 }
        }

        mutating func step() -> [EndpointMarks.Change] {
            if random.one(in: 400), let endpoint = held.keys.sorted().randomElement(using: &random) {
                if down.remove(endpoint) == nil { down.insert(endpoint) }
            }
            for endpoint in held.keys.sorted() {
                let come = marks.over.contains(endpoint) || isFull ? 0 : Int64.random(in: 0...2_000, using: &random)
                let go = down.contains(endpoint) ? 0 : min(held[endpoint, default: 0] + come, 4_000)
                held[endpoint, default: 0] += come - go
                for other in held.keys { moved[other, default: 0] += come + go }
            }
            if waiting >= Self.size { isFull = true } else if waiting < Int64(Self.size) * 9 / 10 { isFull = false }
            return marks.update(waiting: waiting, held: held)
        }
    }

    @Test(
        "whoever is down: one that keeps up is never over, intake goes on, and nothing goes to and fro",
        arguments: 1...20
    )
    func runs(seed: UInt64) {
        var run = Run(seed: seed)
        for _ in 0..<20_000 {
            let changes = run.step()
            for change in changes {
                if change.isOver {
                    #expect(run.down.contains(change.endpoint) || run.held[change.endpoint, default: 0] > 1_000)
                }
                // Between over and below lies a good part of what it holds.
                let least = max(500, change.held / 8)
                #expect(run.moved[change.endpoint, default: .max] >= least, "\(change)")
                run.moved[change.endpoint] = 0
            }
            if run.down.count <= 2 { #expect(!run.isFull, "\(run.held) \(run.down)") }
            for endpoint in run.held.keys where run.held[endpoint] == 0 { #expect(!run.marks.over.contains(endpoint)) }
        }
    }
}
