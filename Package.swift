// swift-tools-version: 6.2
import PackageDescription

let language: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
let settings = language + [.treatAllWarnings(as: .error)]

/// A Swift target of ours; `needs` are the arrows of docs/ARCHITECTURE.md, which ConventionTests checks against the imports.
func module(_ name: String, needs: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: needs, swiftSettings: settings)
}

func program(_ name: String, needs: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: needs, swiftSettings: settings)
}

func tests(_ name: String, needs: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: needs, exclude: exclude, swiftSettings: settings)
}

func library(_ name: String, pkgConfig: String? = nil, debian: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([debian])])
}

let package = Package(
    name: "roombridge",
    products: [
        .library(name: "Rooms", targets: ["Rooms"]),
        .executable(name: "roombridge", targets: ["roombridge"]),
        .executable(name: "roomhub", targets: ["roomhub"]),
        .executable(name: "roomtail", targets: ["roomtail"]),
        .executable(name: "roombench", targets: ["roombench"]),
        .executable(name: "curlloop", targets: ["curlloop"]),
    ],
    targets: [
        // C libraries: one importer each
        library("CRoomsCurl", pkgConfig: "libcurl", debian: "libcurl4-openssl-dev"),
        library("CRoomsWslay", debian: "libwslay-dev"),
        library("CRoomsCrypto", pkgConfig: "libcrypto", debian: "libssl-dev"),
        library("CRoomsLinux", debian: "libc6-dev"),
        library("CSQLite", pkgConfig: "sqlite3", debian: "libsqlite3-dev"),
        library("CSystemd", pkgConfig: "libsystemd", debian: "libsystemd-dev"),
        library("CMicrohttpd", pkgConfig: "libmicrohttpd", debian: "libmicrohttpd-dev"),

        // 0: threads, clock, bytes, digests, log
        module("RoomsRuntime", needs: ["CRoomsCrypto", "CRoomsLinux"]),

        // 1: pure codecs and values
        module("RoomsWire", needs: ["RoomsRuntime"]),
        module("RoomsHTTP", needs: ["RoomsRuntime"]),
        module("BridgeModel", needs: ["RoomsRuntime"]),

        // 2: one C library each
        module("RoomsWebSocket", needs: ["CRoomsWslay", "RoomsRuntime"]),
        module("RoomsTransport", needs: ["CRoomsCurl", "RoomsWebSocket", "RoomsHTTP", "RoomsRuntime"]),
        module("BridgeSQLite", needs: ["CSQLite", "RoomsRuntime"]),
        module("BridgeSystemd", needs: ["CSystemd", "RoomsRuntime"]),
        module("LocalHTTP", needs: ["CMicrohttpd", "RoomsRuntime"]),

        // 3: client library, store, delivery
        module("Rooms", needs: ["RoomsTransport", "RoomsWire", "RoomsRuntime"]),
        module("BridgeStore", needs: ["BridgeSQLite", "BridgeModel", "RoomsRuntime"]),
        module("BridgeDelivery", needs: ["BridgeModel", "RoomsHTTP", "RoomsTransport", "RoomsWire", "RoomsRuntime"]),

        // 4: the daemon and the development server
        module(
            "BridgeCore",
            needs: [
                "Rooms", "BridgeStore", "BridgeDelivery", "BridgeModel", "BridgeSystemd", "LocalHTTP", "RoomsTransport",
                "RoomsWire", "RoomsRuntime",
            ]
        ),
        module("HubCore", needs: ["LocalHTTP", "RoomsWebSocket", "RoomsWire", "RoomsRuntime"]),

        // 5: programs
        program("roombridge", needs: ["BridgeCore"]),
        program("roomhub", needs: ["HubCore"]),
        program("roomtail", needs: ["Rooms"]),
        program(
            "roombench",
            needs: [
                "Rooms", "BridgeStore", "BridgeDelivery", "BridgeModel", "RoomsHTTP", "RoomsTransport",
                "RoomsWebSocket",
                "RoomsWire", "RoomsRuntime",
            ]
        ),
        .executableTarget(name: "curlloop", dependencies: ["CRoomsCurl"]),
        // Not under Sources, where nothing imports Foundation.
        .executableTarget(name: "jsondecoder", path: "deploy/bench/jsondecoder", swiftSettings: settings),

        // tests
        .target(
            name: "BridgeTestSupport",
            dependencies: ["HubCore", "LocalHTTP", "RoomsWire", "RoomsRuntime", "CRoomsLinux"],
            path: "Tests/Support",
            swiftSettings: settings
        ),
        tests("ConventionTests", needs: []),
        tests("RoomsRuntimeTests", needs: ["RoomsRuntime", "BridgeTestSupport"]),
        tests("RoomsWireTests", needs: ["RoomsWire", "RoomsRuntime", "BridgeTestSupport"]),
        tests("RoomsHTTPTests", needs: ["RoomsHTTP", "RoomsTransport", "RoomsRuntime", "BridgeTestSupport"]),
        tests(
            "RoomsTransportTests",
            needs: ["RoomsTransport", "RoomsWebSocket", "RoomsHTTP", "RoomsRuntime", "BridgeTestSupport"]
        ),
        tests(
            "RoomsTests",
            needs: [
                "Rooms", "RoomsTransport", "RoomsWebSocket", "RoomsWire", "RoomsRuntime", "HubCore", "LocalHTTP",
                "BridgeTestSupport",
            ]
        ),
        // The rooms page's own snippets: three of its values are not used, which is no error here.
        .testTarget(
            name: "RoomsPageTests",
            dependencies: ["Rooms", "BridgeTestSupport"],
            exclude: ["rooms.md"],
            swiftSettings: language
        ),
        tests(
            "BridgeStoreTests",
            needs: ["BridgeStore", "BridgeSQLite", "BridgeModel", "RoomsRuntime", "BridgeTestSupport"]
        ),
        tests(
            "BridgeDeliveryTests",
            needs: [
                "BridgeDelivery", "BridgeModel", "RoomsHTTP", "RoomsTransport", "RoomsWire", "RoomsRuntime",
                "BridgeTestSupport",
            ]
        ),
        tests(
            "BridgeCoreTests",
            needs: [
                "roombridge", "BridgeCore", "BridgeDelivery", "BridgeModel", "BridgeSystemd", "Rooms", "RoomsTransport",
                "RoomsWire",
                "RoomsRuntime", "BridgeTestSupport",
            ]
        ),
        tests(
            "HubCoreTests",
            needs: ["HubCore", "LocalHTTP", "RoomsWebSocket", "RoomsWire", "RoomsRuntime", "BridgeTestSupport"]
        ),
        tests(
            "EndToEndTests",
            needs: [
                "roombridge", "roomhub", "roomtail", "Rooms", "RoomsWebSocket", "RoomsWire", "RoomsRuntime",
                "BridgeTestSupport",
            ],
            exclude: [
                "Clients/Programs", "Examples/rooms.md", "Faults/faults.c", "Machine/box.sh", "Machine/scenarios.sh",
                "Machine/sink.py", "Outside/App", "Python",
            ]
        ),
    ]
)
