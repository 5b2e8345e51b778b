import Testing

@testable import BridgeDelivery

@Suite struct RetryScheduleTests {
    @Test(
        "the wait lies between half of the step and the whole of it",
        arguments: [
            (1, 500), (2, 1_000), (3, 2_000), (4, 4_000), (5, 8_000), (6, 16_000), (7, 30_000), (8, 30_000),
            (1_000, 30_000), (.max, 30_000), (0, 500), (.min, 500),
        ]
    )
    func doubles(failures: Int, step: Int) {
        let schedule = RetrySchedule()
        #expect(schedule.wait(afterFailures: failures, random: 0) == .milliseconds(step / 2))
        #expect(schedule.wait(afterFailures: failures, random: .max) == .milliseconds(step))
        let middle = schedule.wait(afterFailures: failures, random: .max / 2)
        #expect(middle > .milliseconds(step * 74 / 100) && middle < .milliseconds(step * 76 / 100))
    }

    @Test("absurd settings saturate")
    func saturates() {
        let schedule = RetrySchedule(base: .seconds(Int64.max), cap: .seconds(3))
        #expect(schedule.wait(afterFailures: .max, random: .max) == .seconds(3))
    }
}
