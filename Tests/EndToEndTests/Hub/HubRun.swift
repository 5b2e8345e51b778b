internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

/// The program `roomhub` in a process of its own, on a port that it chose.
final class HubRun {
    static let apiKey = "roomhub-api-key"
    static let tokenSecret = "roomhub-token-secret"

    let child: ChildProcess
    let port: UInt16
    private let folder: TemporaryDirectory

    /// `configuration` is the text of the file; keys are the usual ones.
    init(_ configuration: String) async throws {
        folder = try TemporaryDirectory()
        let path = try folder.write(configuration, to: "hub.json")
        child = try ChildProcess(
            Programs.hub,
            ["--config", path, "--listen", "127.0.0.1:0"],
            environment: Programs.quiet
        )
        let line = try await child.line(containing: "listens on")
        port = try #require(UInt16(line.split(separator: ":").last ?? ""))
    }

    func api(_ method: String, _ body: String) async throws -> String {
        let key = "x-api-key: \(Self.apiKey)"
        let answer = try await TestHTTP.post(.loopback(port: port), "/api/\(method)", body, headers: [key])
        return String(decoding: try #require(answer, "no answer to \(method)").body, as: UTF8.self)
    }

    /// Publishes `data`, which is JSON, to each of `rooms`, in one request.
    func publish(_ data: String, to rooms: [String]) async throws {
        let commands = rooms.map { #"{"publish":{"channel":"\#($0)","data":\#(data)}}"# }
        let answer = try await api("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
        #expect(!answer.contains("error"), "\(answer.prefix(300))")
    }

    func clientCount() async throws -> Int {
        let answer = try await api("info", "{}")
        let part = answer.components(separatedBy: #""num_clients":"#).dropFirst().first ?? ""
        return try #require(Int(part.prefix { $0.isNumber }), "\(answer)")
    }

    /// Megabytes that belong to the process alone.
    var memory: Double {
        let status = (try? String(contentsOfFile: "/proc/\(child.pid)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
        return (line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Double($0) } ?? 0)
            / 1_024
    }

    var threadCount: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(child.pid)/task").count) ?? 0
    }
}
