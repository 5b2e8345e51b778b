extension Table {
    /// The budgets of this version beside what was measured.
    ///
    /// They are the aim from the start; a row that misses says so.
    func printBudgets() {
        print("\nbudget                                                              measured    wanted")
        func row(_ name: String, _ value: Double?, atLeast wanted: Double) {
            row(name, value, "≥ \(hundredths(wanted))", isMet: value.map { $0 >= wanted })
        }
        func row(_ name: String, _ value: Double?, atMost wanted: Double) {
            row(name, value, "≤ \(hundredths(wanted))", isMet: value.map { $0 <= wanted })
        }
        /// Of one event, in microseconds of CPU.
        func row(_ name: String, costs row: String, atMost wanted: Double) {
            guard let value = cpu(row) else { return }
            let verdict = value <= wanted ? "" : "   MISSED"
            print(pad(name, 66) + right(thousandths(value), 10) + right("≤ \(hundredths(wanted))", 10) + verdict)
        }
        func row(_ name: String, _ value: Double?, _ wanted: String, isMet: Bool?) {
            guard let value, let isMet else { return }
            let verdict = isMet ? "" : "   MISSED"
            print(pad(name, 66) + right(hundredths(value), 10) + right(wanted, 10) + verdict)
        }
        func ratio(_ left: Double?, _ right: Double?) -> Double? {
            guard let left, let right, right > 0 else { return nil }
            return left / right
        }
        row(
            "drain, signed / bare libcurl loop",
            ratio(rate("drain, signed"), rate("bare libcurl loop in C")),
            atLeast: 1.3
        )
        row(
            "drain over Unix, signed / bare libcurl loop over Unix",
            ratio(rate("drain over Unix"), rate("bare libcurl loop in C over Unix")),
            atLeast: 1.3
        )
        row(
            "end to end, signed / Go peer",
            ratio(rate("end to end, signed"), rate("end to end, Go peer")),
            atLeast: 1.2
        )
        row(
            "lines drained, ack protocol (events/s)",
            rate("lines drained, ack protocol, in 10,000 lanes"),
            atLeast: 150_000
        )
        row("CPU per event end to end, signed, TCP (µs)", cpu("end to end, signed"), atMost: 12)
        row("CPU per event end to end, signed, Unix (µs)", cpu("end to end over Unix"), atMost: 9)
        row("latency p50 beyond the frame (ms)", rate("latency p50"), atMost: 0.8)
        row("latency p99 beyond the frame (ms)", rate("latency p99"), atMost: 4)
        row("decoding a push of 400 bytes (µs)", costs: "decoding a push", atMost: 0.1)
        row("checking that its payload is JSON and finding its name (µs)", costs: "checking its payload", atMost: 0.5)
        row("the whole ingest, from the socket to the sink (µs)", costs: "whole ingest", atMost: 1.2)
        row("10,000 rooms joined by one client (s)", rate("client in 10000 rooms, joined"), atMost: 5)
        row("anonymous memory of a client in 10,000 rooms (MB)", memory("client in 10000 rooms, joined"), atMost: 32)
        for shape in BacklogShape.allCases {
            row(
                "insert while all wait / while none wait, \(shape.name)",
                ratio(cpu("insert while all wait, \(shape.name)"), cpu("insert while none wait, \(shape.name)")),
                atMost: 1.3
            )
            row(
                "CPU of a backlog \(shape.name) / in 8 lanes",
                ratio(cpu("backlog \(shape.name)"), cpu("backlog \(BacklogShape.fewLanes.name)")),
                // One request at a time wakes both sides for each event, where eight wake them together.
                atMost: shape == .busyLane ? 2.5 : 1.3
            )
        }
        row("endpoints that are down, 10,000 rooms waiting (% of a core)", rate("outage: %"), atMost: 1)
        // At most eight at first, and nine waits of half their length at the least.
        row("connects to one of them in 63 s", rate("outage: connects"), atMost: 17)
        row("anonymous memory when idle (MB)", rate("idle memory"), atMost: 10)
        row(
            "roomhub, in and out to one subscriber, 300 bytes (events/s)",
            rate("roomhub, 300 bytes, protobuf"),
            atLeast: 100_000
        )
    }
}
