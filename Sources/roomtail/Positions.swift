import Glibc
import Rooms

/// How far each room was printed, in a file: a JSON object of event ids by room.
///
/// The file is replaced, never changed, so that a crash leaves the one or the other.
struct Positions {
    private let path: String
    private var ids: [String: String] = [:]

    /// Those of an earlier process, where there was one.
    init(_ path: String) throws(Failure) {
        self.path = path
        guard let text = try TextFile.readIfThere(path) else { return }
        guard let members = (try? JSONValue(json: text))?.object else {
            throw Failure(.input, "\(path): it does not hold positions; name a file that is not there yet")
        }
        for (room, id) in members { ids[room] = id.string }
    }

    subscript(_ room: String) -> String? { ids[room] }

    /// The room was printed up to that event.
    mutating func move(_ room: String, to id: String) throws(Failure) {
        ids[room] = id
        let members = ids.sorted { $0.key < $1.key }.map { (key: $0.key, value: JSONValue($0.value)) }
        let draft = path + ".new"
        let file = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure(.output, "\(draft): \(String(cString: strerror(errno)))") }
        do {
            defer { close(file) }
            try Descriptor(file, draft).write("\(JSONObject(members))\n")
        }
        guard rename(draft, path) == 0 else { throw Failure(.output, "\(path): \(String(cString: strerror(errno)))") }
    }
}
