internal import BridgeTestSupport
internal import Foundation

/// The programs and folders of this package, as the tests find them.
enum Programs {
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path

    /// Where the build put this test bundle, and the programs beside it.
    private static let folder: String = {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let runner = (path as NSString).deletingLastPathComponent
        return FileManager.default.fileExists(atPath: runner + "/roombridge") ? runner : root + "/.build/debug"
    }()

    static var bridge: String { folder + "/roombridge" }
    static var hub: String { folder + "/roomhub" }
    static var tail: String { folder + "/roomtail" }

    /// The Python that `make setup` filled with the judges.
    static func python() throws -> String {
        let path = root + "/.build/venv/bin/python"
        guard FileManager.default.isExecutableFile(atPath: path) else { throw NotSetUp() }
        return path
    }

    static func script(_ name: String) -> String { root + "/Tests/EndToEndTests/Python/" + name }

    /// What every child of these tests gets: after a crash the backtracer would outlive the child and hold its output.
    static let quiet = ["SWIFT_BACKTRACE": "enable=no"]

    struct NotSetUp: Error, CustomStringConvertible {
        let description = "there is no .build/venv: run `make setup`"
    }
}
