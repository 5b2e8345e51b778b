import BridgeModel
import RoomsRuntime
import Testing

@testable import BridgeCore

@Suite struct RoutePlanTests {
    private static func rule(_ events: [String]?, _ endpoints: Int...) -> RoomConfiguration.Rule {
        RoomConfiguration.Rule(events: events?.compactMap { EventFilter(ByteString($0)) }, endpoints: endpoints)
    }

    private static func room(_ rules: RoomConfiguration.Rule...) -> RoomConfiguration {
        RoomConfiguration(server: 0, name: "r", start: .now, rules: rules)
    }

    private static let rooms: [(RoomConfiguration, [(String, [Int])])] = [
        (room(rule(nil, 1, 0)), [("any", [0, 1]), ("", [0, 1])]),
        (room(rule(["updated"], 0)), [("updated", [0]), ("updated2", []), ("", [])]),
        (room(rule(["order.*"], 0)), [("order.", [0]), ("order.x", [0]), ("order", []), ("x", [])]),
        (room(rule(["*"], 0)), [("", [0]), ("x", [0])]),
        (
            room(rule(["a*"], 0), rule(["ab*", "x"], 1), rule(["abc"], 2), rule(nil, 3)),
            [
                ("a", [0, 3]), ("ab", [0, 1, 3]), ("abc", [0, 1, 2, 3]), ("abcd", [0, 1, 3]), ("x", [1, 3]), ("y", [3]),
            ]
        ),
        (room(rule(["é"], 0)), [("é", [0]), ("e\u{301}", [])]),
    ]

    @Test(arguments: rooms.indices)
    func `an event goes where every filter that matches its name says`(_ index: Int) {
        let (room, expectations) = Self.rooms[index]
        let plan = RoutePlan([room])
        for (name, endpoints) in expectations {
            let route = plan.rooms[0].route(of: ByteString(name))
            #expect(route.map { plan.routes[$0] } ?? [] == endpoints, "\(name)")
        }
    }

    @Test func `what the bridge itself tells goes to those alone who ask, also without any events`() {
        var asking = Self.rule([], 2)
        asking.notices = [.member, .state]
        var other = Self.rule(nil, 0)
        other.notices = [.state]
        let plan = RoutePlan([Self.room(Self.rule(nil, 1), asking, other), Self.room(Self.rule(nil, 0))])
        let routes = plan.rooms[0].notices.mapValues { plan.routes[$0] }
        #expect(routes == [.member: [2], .state: [0, 2]])
        #expect(plan.rooms[0].route(of: "any").map { plan.routes[$0] } == [0, 1])
        #expect(plan.rooms[0].all.map { plan.routes[$0] } == [0, 1, 2])
        #expect(plan.rooms[1].notices.isEmpty && plan.rooms[0].hearsMembers && !plan.rooms[1].hearsMembers)
    }

    @Test func `a gap goes to every endpoint that gets anything of the room`() {
        let plan = RoutePlan([Self.room(Self.rule(["a"], 2), Self.rule(["b"], 0)), Self.room(Self.rule(nil, 0, 2))])
        #expect(plan.rooms[0].all.map { plan.routes[$0] } == [0, 2])
        #expect(plan.rooms[0].all == plan.rooms[1].all, "equal sets are one route")
        #expect(Set(plan.routes) == [[0, 2], [2], [0]])
    }
}
