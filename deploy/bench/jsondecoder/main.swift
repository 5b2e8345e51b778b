import Foundation

// What decoding one event costs with Foundation, for the benchmark to compare with: it alone links Foundation.
// usage: jsondecoder FILE COUNT: decodes the event in FILE so often, and prints the CPU time of one in microseconds.

struct OrderUpdated: Decodable {
    struct Item: Decodable {
        var sku: String
        var count: Int
        var price: Double
    }

    struct Address: Decodable {
        var name: String
        var street: String
        var city: String
    }

    var order: Int
    var status: String
    var total: Double
    var paid: Bool
    var items: [Item]
    var address: Address
    var note: String
}

struct Event: Decodable {
    var event: String
    var data: OrderUpdated
}

func cpuSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

let arguments = CommandLine.arguments
guard arguments.count == 3, let count = Int(arguments[2]), count > 0 else {
    print("usage: jsondecoder FILE COUNT")
    exit(64)
}
let payload = try Data(contentsOf: URL(fileURLWithPath: arguments[1]))
let decoder = JSONDecoder()
var names = 0
let begin = cpuSeconds()
for _ in 0..<count { names += try decoder.decode(Event.self, from: payload).event.utf8.count }
let microseconds = (cpuSeconds() - begin) * 1e6 / Double(count)
guard names > 0 else { exit(1) }
print("decoded \(microseconds)")
