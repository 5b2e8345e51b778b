/// nginx with one worker that takes each body in and answers 200, no access log: where deliveries go.
final class Sink {
    let port: UInt16
    let unixPath: String
    private let nginx: Program
    private let client: PlainClient
    private var polls = 0

    init(folder: String, port held: HeldPort) {
        port = held.number
        unixPath = "\(folder)/sink.sock"
        let configuration = """
            daemon off; master_process off; worker_processes 1; pid \(folder)/nginx.pid; error_log stderr;
            events { worker_connections 1024; }
            http {
              access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; client_max_body_size 64m;
              client_body_temp_path \(folder)/t1; proxy_temp_path \(folder)/t2; fastcgi_temp_path \(folder)/t3;
              uwsgi_temp_path \(folder)/t4; scgi_temp_path \(folder)/t5;
              server {
                listen 127.0.0.1:\(port); listen unix:\(unixPath);
                location = /status { stub_status; }
                location / { return 200; }
              }
            }
            """
        writeFile("\(folder)/nginx.conf", configuration)
        nginx = Program(
            "nginx",
            ["nginx", "-c", "\(folder)/nginx.conf", "-e", "stderr"],
            log: "\(folder)/nginx.log"
        )
        held.waitUntilTaken()
        client = PlainClient(port: port)
    }

    /// Requests answered so far, our own questions not counted.
    var count: Int {
        polls += 1
        let numbers = client.get("/status").split(separator: "\n").dropFirst(2).first?.split(separator: " ") ?? []
        guard numbers.count == 3, let requests = Int(numbers[2]) else { fail("nginx gives no status") }
        return requests - polls
    }

    var cpuMicroseconds: Double { nginx.cpuMicroseconds }

    /// Waits until `target` requests were answered; false when nothing moves for 20 s.
    func waitFor(_ target: Int) -> Bool {
        var last = count
        var quiet = Stopwatch()
        while last < target {
            pause(milliseconds: 5)
            let now = count
            if now != last { quiet = Stopwatch() }
            last = now
            if quiet.seconds > 20 { return false }
        }
        return true
    }

    func end() { nginx.end() }
}
