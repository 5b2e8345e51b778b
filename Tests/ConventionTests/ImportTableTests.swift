import Foundation
import Testing

/// The arrows between targets: one way, downwards, and one importer for each C library.
@Suite struct ImportTableTests {
    /// What each target may import of ours; docs/ARCHITECTURE.md shows the same as a table.
    static let arrows: [String: Set<String>] = [
        "RoomsRuntime": ["CRoomsCrypto", "CRoomsLinux"],
        "RoomsWire": ["RoomsRuntime"],
        "RoomsHTTP": ["RoomsRuntime"],
        "BridgeModel": ["RoomsRuntime"],
        "RoomsWebSocket": ["CRoomsWslay", "RoomsRuntime"],
        "RoomsTransport": ["CRoomsCurl", "RoomsWebSocket", "RoomsHTTP", "RoomsRuntime"],
        "BridgeSQLite": ["CSQLite", "RoomsRuntime"],
        "BridgeSystemd": ["CSystemd", "RoomsRuntime"],
        "LocalHTTP": ["CMicrohttpd", "RoomsRuntime"],
        "Rooms": ["RoomsTransport", "RoomsWire", "RoomsRuntime"],
        "BridgeStore": ["BridgeSQLite", "BridgeModel", "RoomsRuntime"],
        "BridgeDelivery": ["BridgeModel", "RoomsHTTP", "RoomsTransport", "RoomsWire", "RoomsRuntime"],
        "BridgeCore": [
            "Rooms", "BridgeStore", "BridgeDelivery", "BridgeModel", "BridgeSystemd", "LocalHTTP", "RoomsTransport",
            "RoomsWire", "RoomsRuntime",
        ],
        "HubCore": ["LocalHTTP", "RoomsWebSocket", "RoomsWire", "RoomsRuntime"],
        "roombridge": ["BridgeCore"],
        "roomhub": ["HubCore"],
        "roomtail": ["Rooms"],
    ]

    /// Measures whatever it likes, but for C libraries.
    static let free: Set<String> = ["roombench"]

    @Test(arguments: SourceTree.sources)
    func `a file imports what its target may`(_ file: SourceTree.File) throws {
        let imports = Set(file.code.compactMap { Self.imported(in: $0) })
        let ours = imports.intersection(Set(Self.arrows.keys).union(Self.cModules))
        if Self.free.contains(file.target) {
            #expect(ours.isDisjoint(with: Self.cModules), "\(file.path): only one target imports each C library")
            return
        }
        let allowed = try #require(Self.arrows[file.target], "\(file.path): a target that the table does not have")
        let wrong = ours.subtracting(allowed)
        #expect(
            wrong.isEmpty,
            "\(file.path) imports \(wrong.sorted()): arrows point downwards only (docs/ARCHITECTURE.md)"
        )
    }

    @Test func `each C library has one importer`() {
        for module in Self.cModules {
            let importers = Set(
                SourceTree.sources.filter { file in file.code.contains { Self.imported(in: $0) == module } }
                    .map(\.target)
            )
            #expect(importers.count <= 1, "\(module) is imported by \(importers.sorted())")
        }
    }

    @Test func `nothing that roombridge links imports Foundation`() {
        for file in SourceTree.sources {
            let wrong = file.code.first { Self.imported(in: $0)?.hasPrefix("Foundation") == true }
            #expect(wrong == nil, "\(file.path):\(wrong?.number ?? 0): a static Foundation is 50 MB; use RoomsRuntime")
        }
    }

    static let cModules: Set<String> = [
        "CRoomsCurl", "CRoomsWslay", "CRoomsCrypto", "CRoomsLinux", "CSQLite", "CSystemd", "CMicrohttpd",
    ]

    private static func imported(in line: SourceTree.Line) -> String? {
        guard let index = line.words.firstIndex(of: "import"), index <= 1 else { return nil }
        return line.words.last.map(String.init)
    }
}
