internal import BridgeTestSupport
internal import Foundation

/// A package in a folder of its own that depends on this one by its path, with the Swift of docs/LIBRARY.md in it.
final class OutsidePackage {
    /// The page's blocks of Swift: first what goes into a manifest, then what an app is made of.
    static func snippets() throws -> [String] {
        let page = try String(contentsOfFile: Programs.root + "/docs/LIBRARY.md", encoding: .utf8)
        return page.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
    }

    private let folder: TemporaryDirectory

    /// The app speaks to a hub on `port`.
    init(port: UInt16) throws {
        folder = try TemporaryDirectory()
        let snippets = try Self.snippets()
        try write(Self.manifest(snippets[0]), to: "Package.swift")
        let app = try String(
            contentsOfFile: Programs.root + "/Tests/EndToEndTests/Outside/App/App.swift",
            encoding: .utf8
        )
        for (name, text) in [("App", app), ("Snippets", Self.source(Array(snippets.dropFirst())))] {
            try write(
                text.replacingOccurrences(of: "127.0.0.1:8000", with: "127.0.0.1:\(port)"),
                to: "Sources/app/\(name).swift"
            )
        }
    }

    private func write(_ text: String, to path: String) throws {
        let file = folder.file(path)
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true
        )
        try folder.write(text, to: path)
    }

    /// With the page's own lines; only the path is this checkout's.
    private static func manifest(_ snippet: String) throws -> String {
        func line(_ start: String) throws -> String {
            let line = snippet.split(separator: "\n").first { $0.hasPrefix(start) }
            guard let line else { throw ChildProcess.Failure("the page's first block has no line \(start)…") }
            return String(line.prefix { $0 != ")" }) + ")"
        }
        let dependency = try line(".package(").replacingOccurrences(
            of: #"path: "../roombridge""#,
            with: #"name: "roombridge", path: "\#(Programs.root)""#
        )
        return """
            // swift-tools-version: 6.2
            import PackageDescription

            let package = Package(
                name: "app",
                dependencies: [\(dependency)],
                targets: [
                    .executableTarget(
                        name: "app",
                        dependencies: [\(try line(".product("))],
                        swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
                    )
                ]
            )
            """
    }

    /// Each snippet as it stands on the page, in a function that gives it what the page takes as known.
    private static func source(_ snippets: [String]) -> String {
        let functions = snippets.enumerated().map { number, snippet in
            let body = snippet.replacingOccurrences(of: "import Rooms\n", with: "")
            return """
                extension Snippets {
                static func snippet\(number)(_ rt: Realtime, _ order: Room, _ chat: Room) async throws {
                \(body)
                }
                }
                """
        }
        let calls = snippets.indices.map { "try await snippet\($0)(rt, order, chat)\nprint(\"snippet \($0) is done\")" }
        return """
            import Rooms

            enum Snippets {
            static func run(_ rt: Realtime, _ order: Room, _ chat: Room) async throws {
            \(calls.joined(separator: "\n"))
            }
            }
            \(functions.joined(separator: "\n"))
            """
    }

    /// Builds it, which takes half a minute the first time; what the compiler said is in the error.
    func build() async throws -> ChildProcess {
        let child = try ChildProcess(
            "swift",
            [
                "build", "--package-path", folder.path, "--scratch-path", Programs.root + "/.build/outside",
                "--product", "app",
            ]
        )
        guard try await child.wait(within: .seconds(280)) == .status(0) else {
            throw ChildProcess.Failure("it does not build:\n\(child.output)")
        }
        return child
    }

    func run() throws -> ChildProcess {
        try ChildProcess(Programs.root + "/.build/outside/debug/app", environment: Programs.quiet)
    }
}
