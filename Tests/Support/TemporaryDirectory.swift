import Foundation

/// A folder of its own for one test, removed with the object.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        let root = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
        // Short, since a Unix socket's path may have 107 bytes only.
        var template = Array((root + "/rb.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: root])
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func file(_ name: String) -> String { path + "/" + name }

    /// Writes `text` to the file `name` and gives its path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: file(name), atomically: true, encoding: .utf8)
        return file(name)
    }
}
