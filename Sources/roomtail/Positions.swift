import Glibc
import Rooms

/// How far each room was printed, in a file of JSON objects, a line each: event ids by room, of which the last counts.
///
/// A step is a line more, so that it costs the same with many rooms; now and then the file is replaced by its sum. A crash
/// leaves the one file or the other, or a last line that is cut off.
struct Positions {
    private static let mostAppended = 65_536

    private let path: String
    private var ids: [String: String] = [:]
    private var file: Descriptor?
    private var appended = 0

    /// Those of an earlier process, where there was one.
    init(_ path: String) throws(Failure) {
        self.path = path
        let lines = (try TextFile.readIfThere(path) ?? "").split(separator: "\n", omittingEmptySubsequences: false)
        for (number, line) in lines.enumerated() where !line.isEmpty {
            if let members = (try? JSONValue(json: String(line)))?.object {
                for (room, id) in members { ids[room] = id.string }
            } else if number + 1 < lines.count || number == 0 {
                throw Failure(.input, "\(path): it does not hold positions; name a file that is not there yet")
            }
        }
        try replace()
    }

    subscript(_ room: String) -> String? { ids[room] }

    /// The room was printed up to that event.
    mutating func move(_ room: String, to id: String) throws(Failure) {
        ids[room] = id
        guard appended < Self.mostAppended else { return try replace() }
        let line = "\(JSONObject([(key: room, value: JSONValue(id))]))\n"
        appended += line.utf8.count
        try file?.write(line)
    }

    private mutating func replace() throws(Failure) {
        let draft = path + ".new"
        let file = try Descriptor(writing: draft)
        let members = ids.sorted { $0.key < $1.key }.map { (key: $0.key, value: JSONValue($0.value)) }
        try file.write("\(JSONObject(members))\n")
        guard rename(draft, path) == 0 else { throw Failure(.output, "\(path): \(String(cString: strerror(errno)))") }
        self.file?.close()
        self.file = file
        appended = 0
    }
}
