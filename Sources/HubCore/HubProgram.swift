internal import Glibc
internal import LocalHTTP
internal import RoomsRuntime

/// The program `roomhub`: arguments, start, wait for a signal, stop.
package enum HubProgram {
    /// Exit statuses of sysexits.h.
    private enum Status {
        static let usage: CInt = 64
        static let noInput: CInt = 66
        static let unavailable: CInt = 69
        static let configuration: CInt = 78
    }

    package static let help = """
        usage: roomhub [--config FILE] [--listen HOST:PORT]...

        A small realtime server for development, tests and demos: it speaks Centrifugo's client
        protocol (protobuf) at /connection/websocket and its server HTTP API at /api. It keeps
        everything in memory and is not for production.

          --config FILE       rooms, keys and addresses, as JSON
          --listen HOST:PORT  listen there in place of what the configuration says; port 0 takes
                              any free one; only this option may name an address that is not
                              loopback
          --help, --version

        Without a configuration: 127.0.0.1:8000, rooms order:{id} (keeps 20), chat:{a}:{b} and
        shop (public, keeps 20), API key roomhub-api-key, token secret roomhub-token-secret.
        POST /auth gives tokens to the users alice and bob: try it with
        curl -H 'Authorization: Bearer alice' -d '{"rooms":["order:1"]}' http://127.0.0.1:8000/auth
        """

    /// Runs until SIGTERM or SIGINT; the exit status.
    ///
    /// Must be called before any thread was started. `say` writes a line to standard output, `complain` to standard
    /// error.
    package static func run(
        _ arguments: [String],
        say: (String) -> Void,
        complain: (String) -> Void
    ) -> CInt {
        var options = Options()
        do throws(UsageError) {
            options = try Options(arguments)
        } catch {
            complain("roomhub: \(error.message)\nTry roomhub --help.")
            return Status.usage
        }
        if options.wantsHelp {
            say(help)
            return 0
        }
        if options.wantsVersion {
            say("roomhub \(HubVersion.text)")
            return 0
        }
        var configuration = HubConfiguration.standard
        if let path = options.config {
            guard let text = WholeFile.read(path) else {
                complain("roomhub: \(path): \(String(cString: strerror(errno)))")
                return Status.noInput
            }
            do throws(HubConfigurationError) {
                configuration = try HubConfiguration.parse(text)
            } catch {
                for issue in error.issues { complain("\(path):\(issue)") }
                return Status.configuration
            }
        }
        if !options.listen.isEmpty {
            configuration.listen = options.listen
        } else if let open = configuration.listen.first(where: { !$0.isLoopback }) {
            complain(
                "roomhub: \(open) is not loopback, and this server is not for production; --listen \(open) insists"
            )
            return Status.configuration
        }
        return serve(configuration, say: say, complain: complain)
    }

    private static func serve(
        _ configuration: HubConfiguration,
        say: (String) -> Void,
        complain: (String) -> Void
    ) -> CInt {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        sigaddset(&signals, SIGINT)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        signal(SIGPIPE, SIG_IGN)
        let queue = LogQueue(sink: StandardErrorSink.detected)
        defer { queue.close() }
        let server = HubServer(configuration, logger: Logger(queue: queue, level: .info))
        let ports: [UInt16]
        do {
            ports = try server.start()
        } catch {
            complain("roomhub: \(error)")
            return Status.unavailable
        }
        for (address, port) in zip(configuration.listen, ports) {
            say("roomhub listens on \(address.with(port: port))")
        }
        var number: CInt = 0
        sigwait(&signals, &number)
        server.stop()
        return 0
    }
}

private struct UsageError: Error {
    let message: String
}

private struct Options {
    var config: String?
    var listen: [ListenAddress] = []
    var wantsHelp = false
    var wantsVersion = false

    init() {}

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": wantsHelp = true
            case "--version": wantsVersion = true
            case "--config":
                guard let path = rest.popFirst() else { throw UsageError(message: "--config needs a file") }
                config = path
            case "--listen":
                guard let text = rest.popFirst(), let address = ListenAddress(ByteString(text)) else {
                    throw UsageError(message: "--listen needs an address such as 127.0.0.1:8000 or [::1]:8000")
                }
                listen.append(address)
            default:
                throw UsageError(message: "\(argument) is not an option")
            }
        }
    }
}
