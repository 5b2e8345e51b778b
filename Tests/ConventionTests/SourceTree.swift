import Foundation
import Testing

/// The package's own files, as these tests read them.
enum SourceTree {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    struct File: CustomTestStringConvertible {
        let path: String
        let lines: [String]

        var testDescription: String { path }
        var name: String { URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent }
        /// The folder under Sources or Tests.
        var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
        var text: String { lines.joined(separator: "\n") }

        /// Lines with their numbers from 1, comments and the insides of string literals blanked.
        var code: [(number: Int, line: String)] {
            lines.enumerated().map { ($0.offset + 1, Self.blanked($0.element)) }
        }

        private static func blanked(_ line: String) -> String {
            let withoutStrings = line.replacing(/"(\\.|[^"\\])*"/, with: "\"\"")
            guard let comment = withoutStrings.range(of: "//") else { return withoutStrings }
            return String(withoutStrings[..<comment.lowerBound])
        }
    }

    static func files(under folder: String, suffix: String = ".swift") -> [File] {
        let base = root.appendingPathComponent(folder)
        let paths = FileManager.default.enumerator(atPath: base.path)?.compactMap { $0 as? String } ?? []
        return paths.filter { $0.hasSuffix(suffix) }.sorted().map { path in
            File(
                path: folder + "/" + path,
                lines: read(folder + "/" + path).components(separatedBy: "\n")
            )
        }
    }

    static func read(_ path: String) -> String {
        (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)) ?? ""
    }

    static let sources = files(under: "Sources")
    static let tests = files(under: "Tests")
}
