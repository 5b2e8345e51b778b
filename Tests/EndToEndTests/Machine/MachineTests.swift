internal import Testing

/// The package under a real systemd, in a box: what an operator does, and what must come of it (`scenarios.sh`).
@Suite(.serialized, .timeLimit(.minutes(6))) struct MachineTests {
    static let scenarios = [
        "is_clean_for_lintian", "installs", "refuses_a_wrong_configuration", "starts_before_the_server",
        "tells_the_drop_in_for_a_closed_socket",
        "delivers_to_http_and_to_a_socket", "runs_in_its_sandbox", "answers_on_the_control_socket",
        "loses_nothing_when_killed", "refuses_a_second_one", "keeps_its_socket_over_a_restart",
        "owns_its_state_after_a_restart", "stops_with_a_hung_endpoint", "rotates_a_credential",
        "goes_on_without_the_journal", "explains_itself_in_the_journal", "takes_a_good_file_and_no_bad_one_on_reload",
        "is_restarted_by_the_watchdog",
        "runs_twice_and_fills_a_disk", "power_is_cut", "comes_back_after_a_power_cut",
        "upgrades_and_keeps_its_state", "leaves_its_state_when_removed_and_not_when_purged",
    ]

    @Test(arguments: scenarios)
    func `the package does what it should on a machine`(_ scenario: String) async throws {
        guard let verdicts = try await Machine.shared.verdicts() else { return }
        let verdict = verdicts[scenario] ?? "it was not reached"
        #expect(verdict == "ok", "\(verdict)")
    }
}
