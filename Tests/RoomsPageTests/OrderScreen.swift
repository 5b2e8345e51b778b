// swift-format-ignore-file
// The snippets of rooms.md, as they stand there: PageTests compares them. Three of the page's values are not used.
import Rooms

/// An app's screen, written as the page writes it.
@MainActor final class OrderScreen {
    let rt: Realtime
    let chat: Room
    var status = ""
    var live = false
    var shown: [String] = []
    private(set) var order: Room?

    init(rt: Realtime, chat: Room) {
        self.rt = rt
        self.chat = chat
    }

    func show(_ event: String, _ data: JSONValue, _ meta: EventMeta) {
        shown.append("\(event) \(data) \(meta.from ?? "server")")
    }

    func joining() async throws {
let order = rt.join("order:1042")

order.on("updated") { data, meta in
    status = data["status"]?.string ?? status   // meta: from, id, at, replayed
}
order.on("joined") { _, _ in live = true }
order.on("error") { error, _ in print(error["code"]?.string ?? "") }   // forbidden, no_rule, full, expired …

order.state            // .joining, .joined, .failed, .left
try await order.ready()   // waits until joined, throws its error
rt.leave("order:1042")    // or order.leave()
    }

    func decoded(_ order: Room) async {
struct OrderUpdate: Decodable { let status: String }

for await (update, meta) in order.events("updated", as: OrderUpdate.self) {
    status = update.status
}
    }

    func paging() async throws {
let page = try await chat.history(limit: 50)                                   // the newest 50
let older = try await chat.history(before: page.events.first?.meta.id, limit: 50)
for event in page.events { show(event.event, event.data, event.meta) }        // page.more: there is older
    }
}
