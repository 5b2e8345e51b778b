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

    /// What must come before anything else in the process.
    package static func prepareProcess() {
        ProcessSettings.openStandardDescriptors()
    }

    /// Runs until SIGTERM or SIGINT; the exit status.
    ///
    /// Must be called before any thread was started. `say` writes a line to standard output, `complain` to standard
    /// error.
    package static func run(
        _ arguments: [String],
        say: (String) -> Void,
        complain: (String) -> Void
    ) -> CInt {
        let invocation: HubInvocation
        do throws(HubUsageError) {
            invocation = try HubInvocation(arguments)
        } catch {
            complain("roomhub: \(error.message)\nTry roomhub --help.")
            return Status.usage
        }
        if invocation.wantsHelp {
            say(HubHelp.text)
            return 0
        }
        if invocation.wantsVersion {
            say("roomhub \(HubVersion.text)")
            return 0
        }
        var configuration = HubConfiguration.standard
        if let path = invocation.config {
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
            if invocation.isCheck {
                say("\(path) is good")
                return 0
            }
        }
        if !invocation.listen.isEmpty { configuration.listen = invocation.listen }
        if let faults = invocation.faults { configuration.faults = faults }
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
        ProcessSettings.ignoreBrokenPipes()
        let openFiles = ProcessSettings.raiseOpenFiles()
        guard openFiles >= ProcessSettings.leastOpenFiles else {
            complain(
                "roomhub: the limit of open files is \(openFiles), it must be at least \(ProcessSettings.leastOpenFiles): "
                    + "raise it with ulimit -n"
            )
            return Status.unavailable
        }
        let queue = LogQueue(sink: StandardErrorSink.detected)
        defer { queue.close() }
        let server = HubServer(configuration, logger: Logger(queue: queue, level: .info))
        let ports: [UInt16]
        do {
            ports = try server.start()
        } catch {
            let isTaken = (error as? ListenError)?.code == .addressInUse
            complain("roomhub: \(error)\(isTaken ? ", such as --listen 127.0.0.1:0 for any free one" : "")")
            return Status.unavailable
        }
        for (address, port) in zip(configuration.listen, ports) {
            let warning = address.isLoopback ? "" : ", where other machines reach it: it is not for production"
            say("roomhub listens on \(address.with(port: port))\(warning)")
        }
        if configuration.listen.contains(where: { !$0.isLoopback }), configuration.hasUsualSecrets {
            complain("roomhub: everybody knows its usual API key and token secret: set api_key and token_secret")
        }
        if let address = server.faultAddress { say("roomhub takes faults on \(address)") }
        var number: CInt = 0
        sigwait(&signals, &number)
        server.stop()
        return 0
    }
}
