internal import RoomsRuntime

/// Who is connected, by connection and by user.
///
/// Belongs to the hub's loop.
package final class SessionDirectory {
    private var byClient: [ByteString: HubSession] = [:]
    private var byUser: [ByteString: [ByteString: HubSession]] = [:]

    package init() {}

    var count: Int { byClient.count }
    var userCount: Int { byUser.count }
    var sessions: some Sequence<HubSession> { byClient.values }

    func connectionCount(of user: ByteString) -> Int { byUser[user]?.count ?? 0 }

    func enter(_ session: HubSession) {
        byClient[session.client] = session
        byUser[session.user, default: [:]][session.client] = session
    }

    func leave(_ session: HubSession) {
        guard byClient.removeValue(forKey: session.client) != nil else { return }
        byUser[session.user]?[session.client] = nil
        if byUser[session.user]?.isEmpty == true { byUser[session.user] = nil }
    }

    /// The connections of a user, or the one of them that is named.
    func sessions(of user: ByteString, client: ByteString = .empty) -> [HubSession] {
        guard let sessions = byUser[user] else { return [] }
        if client.isEmpty { return Array(sessions.values) }
        return sessions[client].map { [$0] } ?? []
    }
}
