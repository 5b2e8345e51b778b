internal import Foundation
package import RoomsWire

/// A recording of a real server: Tests/Transcripts, one file a scenario, one JSON object a line.
package struct Transcript {
    package let name: String
    package let lines: [JSONNode]

    package var isProtobuf: Bool { name.contains("protobuf") }

    package init(named name: String) throws {
        self.name = name
        let file = Self.folder.appending(path: "\(name).ndjson")
        lines = try [UInt8](Data(contentsOf: file)).split(separator: 0x0a).map { line in
            try JSONDocument.parse(Array(line), maximumDepth: 512).root
        }
    }

    /// Every scenario, in the order of their names.
    package static func all() throws -> [Transcript] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "ndjson" }
            .map { $0.deletingPathExtension().lastPathComponent }
            .sorted()
            .map { try Transcript(named: $0) }
    }

    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Transcripts")
}
