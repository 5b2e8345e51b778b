/// What a run calls the things that a server names by chance.
///
/// Two servers did the same when both accounts are equal after every such name is replaced by ours: epochs are numbered in
/// the order in which they are first told, ids of connections become the names of the connections.
struct Naming: Sendable {
    private var epochs: [String] = []
    private var clients: [(id: String, name: String)] = []

    mutating func epoch(_ told: String) -> String {
        if told.isEmpty { return "" }
        if let known = epochs.firstIndex(of: told) { return "epoch \(known + 1)" }
        epochs.append(told)
        return "epoch \(epochs.count)"
    }

    mutating func client(_ id: String) -> String {
        if let known = clients.first(where: { $0.id == id }) { return known.name }
        clients.append((id, "stranger \(clients.count)"))
        return clients[clients.count - 1].name
    }

    /// The server gave the id to the connection of that name.
    mutating func met(_ id: String, as name: String) {
        if !clients.contains(where: { $0.id == id }) { clients.append((id, "client \(name)")) }
    }

    func epoch(number: Int) -> String? { epochs.indices.contains(number - 1) ? epochs[number - 1] : nil }

    func client(named name: String) -> String? { clients.last { $0.name == "client \(name)" }?.id }

    /// `text` with placeholders in place of everything named so far.
    func template(_ text: String) -> String {
        var text = text
        for (index, epoch) in epochs.enumerated() { text.replace("\"\(epoch)\"", with: "\"$epoch(\(index + 1))\"") }
        for (id, name) in clients where name.hasPrefix("client ") {
            text.replace(id, with: "$client(\(name.dropFirst(7)))")
        }
        return text
    }
}
