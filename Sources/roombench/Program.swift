internal import Glibc

/// A program that the benchmark runs beside itself: started, watched through /proc, ended and waited for.
final class Program {
    let name: String
    let process: pid_t
    /// Where its output goes.
    let log: String
    private(set) var isRunning = true

    init(_ name: String, _ arguments: [String], log: String) {
        self.name = name
        self.log = log
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var process = pid_t()
        // It ends with the benchmark, also when that fails half-way.
        var words = (["setpriv", "--pdeathsig", "KILL"] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        let result = posix_spawnp(&process, "setpriv", &actions, nil, &words, environ)
        guard result == 0 else { fail("cannot start \(arguments[0]): \(String(cString: strerror(result)))") }
        self.process = process
    }

    deinit { end() }

    /// Waits until `text` stands in its output, and gives the line.
    @discardableResult
    func waitFor(_ text: String) -> String {
        let deadline = Stopwatch()
        while deadline.seconds < 20 {
            if let line = output().split(separator: "\n").first(where: { $0.contains(text) }) { return String(line) }
            pause(milliseconds: 5)
        }
        fail("\(name) does not say \"\(text)\":\n\(output())")
    }

    func output() -> String { readFile(log) }

    func end(_ signal: CInt = SIGTERM) {
        guard isRunning else { return }
        isRunning = false
        kill(process, signal)
        var status: CInt = 0
        waitpid(process, &status, 0)
    }

    /// Waits for it to end by itself; its exit status.
    func wait() -> CInt {
        var status: CInt = 0
        waitpid(process, &status, 0)
        isRunning = false
        return status
    }

    /// CPU time so far, user and system, in microseconds (the kernel counts in ticks of 10 ms).
    var cpuMicroseconds: Double {
        let fields = readFile("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
        return (user + system) * 1e6 / Double(sysconf(CInt(_SC_CLK_TCK)))
    }

    /// Anonymous resident memory in kilobytes: now, and the largest resident set so far.
    var memory: (anonymous: Int, peak: Int) {
        let status = readFile("/proc/\(process)/status")
        func value(_ key: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
            return line?.split(separator: " ").dropLast().last.flatMap { Int($0) } ?? 0
        }
        return (value("RssAnon:"), value("VmHWM:"))
    }

    /// Waits until it uses no CPU for a while.
    func waitUntilIdle() {
        var last = -1.0
        var quiet = 0
        while quiet < 30 {
            let used = cpuMicroseconds
            quiet = used == last ? quiet + 1 : 0
            last = used
            pause(milliseconds: 20)
        }
    }
}

/// Seconds since it was made.
struct Stopwatch {
    private let start: timespec

    init() {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        start = now
    }

    var seconds: Double {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Double(now.tv_sec - start.tv_sec) + Double(now.tv_nsec - start.tv_nsec) / 1e9
    }
}

func pause(milliseconds: Int) {
    var time = timespec(tv_sec: milliseconds / 1_000, tv_nsec: milliseconds % 1_000 * 1_000_000)
    nanosleep(&time, nil)
}

func readFile(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = read(descriptor, &chunk, chunk.count)
        guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
        bytes += chunk[0..<count]
    }
}

func writeFile(_ path: String, _ text: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    let bytes = Array(text.utf8)
    guard descriptor >= 0, write(descriptor, bytes, bytes.count) == bytes.count else { fail("cannot write \(path)") }
    close(descriptor)
}

func fail(_ message: String) -> Never {
    let line = Array("roombench: \(message)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
}
