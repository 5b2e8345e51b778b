import Foundation

/// A foreign program that some tests run against.
///
/// A test whose program is not there is left out with a line that says so; when the variable ROOMBRIDGE_REQUIRE lists the
/// program's word, it fails instead.
package enum RequiredProgram: String, CaseIterable, Sendable {
    case centrifugo
    case redis
    case systemd
    case nginx
    case node
    case php
    case peerGo = "peer-go"

    /// The program's path; nil when it is not installed and nobody insists on it.
    package func find() throws -> String? {
        let environment = ProcessInfo.processInfo.environment
        if let given = variable.flatMap({ environment[$0] }), !given.isEmpty {
            guard access(given, X_OK) == 0 else {
                throw Missing(description: "\(variable ?? "") names \(given), which cannot be run")
            }
            return given
        }
        let folders =
            (environment["PATH"] ?? "").split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/lib/systemd"]
        for folder in folders where access(folder + "/" + fileName, X_OK) == 0 { return folder + "/" + fileName }
        let required = (environment["ROOMBRIDGE_REQUIRE"] ?? "").split { $0 == "," || $0 == " " }
        if required.contains(Substring(rawValue)) {
            throw Missing(description: "\(rawValue) is not installed, but ROOMBRIDGE_REQUIRE lists it")
        }
        FileHandle.standardError.write(Data("left out: \(rawValue) is not installed\n".utf8))
        return nil
    }

    package struct Missing: Error, CustomStringConvertible {
        package let description: String
    }

    private var fileName: String {
        self == .redis ? "redis-server" : rawValue
    }

    /// The variable that overrides the search.
    private var variable: String? {
        switch self {
        case .centrifugo: "CENTRIFUGO"
        case .peerGo: "PEER_GO"
        default: nil
        }
    }
}
