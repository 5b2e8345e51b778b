/// What all connections of a hub share.
///
/// Belongs to the hub's loop.
package final class HubState {
    package let registry: RoomRegistry
    package let directory = SessionDirectory()
    package let verifier: TokenVerifier
    package let settings: SessionSettings
    /// Which answers are to fail; nil: none.
    var answerFaults: AnswerFaults?

    package init(registry: RoomRegistry, verifier: TokenVerifier, settings: SessionSettings) {
        self.registry = registry
        self.verifier = verifier
        self.settings = settings
    }
}
