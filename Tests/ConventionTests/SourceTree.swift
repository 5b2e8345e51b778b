import Foundation
import Testing

/// The package's own files, as these tests read them.
enum SourceTree {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A line of code by its words: runs of letters, digits and underscores.
    struct Line {
        /// From 1.
        let number: Int
        let text: String
        let words: [Substring]

        init(number: Int, text: String) {
            self.number = number
            self.text = text
            words = text.split { !($0.isLetter || $0.isNumber || $0 == "_") }
        }

        func has(_ word: String) -> Bool { words.contains { $0 == word } }

        /// The names that a declaration on this line gives.
        var declared: [Substring] {
            let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "protocol", "extension", "typealias"]
            return zip(words, words.dropFirst()).compactMap { kinds.contains($0) ? $1 : nil }
        }
    }

    struct File: CustomTestStringConvertible {
        let path: String
        let lines: [String]

        var testDescription: String { path }
        var name: String { URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent }
        /// The folder under Sources or Tests.
        var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
        var text: String { lines.joined(separator: "\n") }

        /// Comments and the insides of string literals are blanked.
        let code: [Line]

        init(path: String, lines: [String]) {
            self.path = path
            self.lines = lines
            code = lines.enumerated().map { Line(number: $0.offset + 1, text: Self.blanked($0.element)) }
        }

        /// By bytes: a regular expression on every line of the tree takes a minute.
        private static func blanked(_ line: String) -> String {
            var kept: [UInt8] = []
            var isInString = false
            var bytes = Array(line.utf8)[...]
            while let byte = bytes.popFirst() {
                switch byte {
                case UInt8(ascii: "\\") where isInString: bytes = bytes.dropFirst()
                case UInt8(ascii: "\""):
                    isInString.toggle()
                    kept.append(byte)
                case UInt8(ascii: "/") where !isInString && bytes.first == byte:
                    return String(decoding: kept, as: UTF8.self)
                default: if !isInString { kept.append(byte) }
                }
            }
            return String(decoding: kept, as: UTF8.self)
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
