/// What was measured: for each row the samples of all rounds; printed as medians.
struct Table {
    struct Row {
        var rates: [Double] = []
        var cpu: [Double] = []
        var anonymous: [Int] = []
        var peak: [Int] = []
    }

    private(set) var names: [String] = []
    private(set) var rows: [String: Row] = [:]
    private(set) var notes: [String] = []

    mutating func add(_ name: String, rate: Double, cpu: Double? = nil, memory: (anonymous: Int, peak: Int)? = nil) {
        if rows[name] == nil { names.append(name) }
        rows[name, default: Row()].rates.append(rate)
        if let cpu { rows[name]?.cpu.append(cpu) }
        if let memory {
            rows[name]?.anonymous.append(memory.anonymous)
            rows[name]?.peak.append(memory.peak)
        }
    }

    mutating func add(note: String) { notes.append(note) }

    /// The median rate of the first row whose name starts so.
    func rate(_ prefix: String) -> Double? {
        names.first { $0.hasPrefix(prefix) }.flatMap { rows[$0] }.map { Self.median($0.rates) }
    }

    func cpu(_ prefix: String) -> Double? {
        names.first { $0.hasPrefix(prefix) }.flatMap { rows[$0] }.flatMap { $0.cpu.isEmpty ? nil : Self.median($0.cpu) }
    }

    /// The most anonymous memory of the first row whose name starts so, in megabytes.
    func memory(_ prefix: String) -> Double? {
        names.first { $0.hasPrefix(prefix) }.flatMap { rows[$0]?.anonymous.max() }.map { Double($0) / 1024 }
    }

    func printRows() {
        let width = (names.map(\.count).max() ?? 0) + 2
        print("\n" + pad("", width) + "  events/s   CPU us/event   anonymous MB   peak MB   lowest-highest")
        for name in names {
            guard let row = rows[name] else { continue }
            let range = "\(Self.shown(row.rates.min() ?? 0))-\(Self.shown(row.rates.max() ?? 0))"
            print(
                pad(name, width) + right(Self.shown(Self.median(row.rates)), 10)
                    + right(row.cpu.isEmpty ? "" : Self.shownCPU(Self.median(row.cpu)), 15)
                    + right(row.anonymous.isEmpty ? "" : tenths(Double(row.anonymous.max() ?? 0) / 1024), 15)
                    + right(row.peak.isEmpty ? "" : tenths(Double(row.peak.max() ?? 0) / 1024), 10) + right(range, 17)
            )
        }
        notes.forEach { print($0) }
    }

    /// Rates whole, small figures such as milliseconds with two decimals.
    private static func shown(_ number: Double) -> String { number < 1_000 ? hundredths(number) : "\(Int(number))" }

    /// Nanoseconds where they matter.
    private static func shownCPU(_ number: Double) -> String { number < 2 ? thousandths(number) : tenths(number) }

    static func median(_ samples: [Double]) -> Double {
        samples.isEmpty ? 0 : samples.sorted()[samples.count / 2]
    }
}

func tenths(_ number: Double) -> String {
    let scaled = Int((number * 10).rounded())
    return "\(scaled / 10).\(scaled % 10)"
}

func hundredths(_ number: Double) -> String {
    let scaled = Int((number * 100).rounded())
    return "\(scaled / 100).\(scaled % 100 < 10 ? "0" : "")\(scaled % 100)"
}

func thousandths(_ number: Double) -> String {
    let digits = "\(Int((number * 1_000).rounded()) % 1_000)"
    return "\(Int((number * 1_000).rounded()) / 1_000)." + String(repeating: "0", count: 3 - digits.count) + digits
}

func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
}
