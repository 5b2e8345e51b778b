/// What is done about an answer, by its status.
///
/// The table of docs/DELIVERY.md: whose fault an answer is decides what waits because of it. Only what is the event's own
/// fault can ever make it a dead letter.
package struct StatusPolicy: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        /// The event is delivered.
        case accept
        /// The event is refused: a few more tries, then it is set aside.
        case refuse
        /// Somebody works on the same thing: more tries than for a refusal, then the same.
        case conflict
        /// The event is larger than the endpoint takes: another try would change nothing.
        case tooLarge
        /// The endpoint is not as it should be, or only this room's events are not: the other rooms tell.
        case fail
        /// The same, and another connection may lead to one that is.
        case failConnection
        /// The request took too long to arrive: once more at once, on another connection.
        case again
        /// The endpoint does not know us: it would refuse everything.
        case unauthorized
        /// The endpoint is gone for good: nothing is sent until somebody says so.
        case gone
        /// The endpoint, or what stands before it, has too much to do.
        case overload
    }

    /// The operator's own word on single statuses.
    package var overrides: [Int: Action]

    package init(overrides: [Int: Action] = [:]) {
        self.overrides = overrides
    }

    package func action(for status: Int) -> Action {
        overrides[status] ?? Self.standard(status)
    }

    /// A status that nobody has defined counts like the first of its hundred.
    private static func standard(_ status: Int) -> Action {
        switch status {
        // One part of a body, or several answers in one: no sense in an answer to a POST.
        case 206, 207: .fail
        case 200..<300: .accept
        case 300..<400: .fail
        case 401, 403, 407, 511: .unauthorized
        case 402, 404, 405, 411, 417, 451: .fail
        case 408: .again
        case 409: .conflict
        case 410: .gone
        case 413: .tooLarge
        case 421, 426: .failConnection
        case 423, 424, 425, 429: .overload
        case 400..<500: .refuse
        case 502, 503, 504, 507, 509, 520..<530, 530, 598, 599: .overload
        // 500 as well: an event may do it, but so does every deployment.
        default: .fail
        }
    }
}
