import BridgeTestSupport
import Foundation
import RoomsRuntime
import Testing

/// The same is done to the hub and to a real server: they must say the same.
@Suite struct DifferentialTests {
    /// Printed with every difference; others may be given in ROOMBRIDGE_SEEDS.
    static var seeds: [UInt64] {
        let given = ProcessInfo.processInfo.environment["ROOMBRIDGE_SEEDS"] ?? ""
        let numbers = given.split(separator: ",").compactMap { UInt64($0) }
        return numbers.isEmpty ? Array(1...40) : numbers
    }

    static var invented: [Scenario] { WrittenScenarios.all + seeds.map { RandomScenario.write(seed: $0) } }

    @Test("every transcript is played, or there is a reason why not")
    func transcripts() throws {
        let known = Transcripts.whole + Transcripts.parted + Transcripts.pair + Exceptions.notPlayed.keys
        #expect(try known.sorted() == RecordedLine.names().sorted())
    }

    @Test("a real server says what it said when it was recorded")
    func realAgainstRecordings() async throws {
        guard let program = try RequiredProgram.centrifugo.find() else { return }
        let recordings = try Transcripts.read()
        let played = await Stage.play(recordings.map(\.scenario), on: .real(program: program))
        for (recording, performance) in zip(recordings, played) {
            report(performance, against: recording.account, "real server against its recording")
        }
    }

    @Test("S41 the hub says what a real server said when it was recorded")
    func hubAgainstRecordings() async throws {
        let recordings = try Transcripts.read().filter { Exceptions.notOnHub[$0.scenario.name] == nil }
        let played = await Stage.play(recordings.map(\.scenario), on: .hub)
        for (recording, performance) in zip(recordings, played) {
            report(performance, against: recording.account, "hub against the recording")
        }
    }

    @Test(
        "a real server says the same twice",
        .enabled(if: ProcessInfo.processInfo.environment["ROOMBRIDGE_TWICE"] != nil)
    )
    func realTwice() async throws {
        guard let program = try RequiredProgram.centrifugo.find() else { return }
        let first = await Stage.play(Self.invented, on: .real(program: program))
        let second = await Stage.play(Self.invented, on: .real(program: program))
        for (left, right) in zip(first, second) {
            report(right, against: left.account, "a real server the second time")
        }
    }

    @Test("the hub says what a real server says")
    func hubAgainstReal() async throws {
        guard let program = try RequiredProgram.centrifugo.find() else { return }
        let scenarios = Self.invented.filter { Exceptions.notOnHub[$0.name] == nil }
        let real = await Stage.play(scenarios, on: .real(program: program))
        let hub = await Stage.play(scenarios, on: .hub)
        for (truth, performance) in zip(real, hub) {
            report(performance, against: truth.account, "hub against a real server")
        }
    }

    private func report(_ performance: Stage.Performance, against truth: Account, _ what: String) {
        // A scenario that waits for what does not come says nothing about what comes behind.
        var differences = truth.stop.map { ["the real server went as far as \($0)"] } ?? []
        differences += performance.account.differences(from: truth, in: performance.scenario.name)
        guard !differences.isEmpty else { return }
        Issue.record("\(performance.scenario.name): \(what)\n  \(differences.joined(separator: "\n  "))")
    }
}
