internal import BridgeSystemd
internal import Glibc
internal import RoomsRuntime

/// `roombridge run`: the process around a `Daemon`.
package enum Service {
    package static let defaultStateDirectory = "/var/lib/roombridge"

    /// What must come before anything else in the process, whatever the command.
    package static func prepareProcess() {
        ProcessSettings.openStandardDescriptors()
    }

    /// Runs until a signal ends it; called once, on the main thread, before any other thread is there.
    ///
    /// `stateDirectory` nil: the service manager's, else the default. `control` nil: beside the state; a socket of the
    /// service manager goes before both.
    package static func run(config: String, stateDirectory: String?, control: String? = nil) -> ExitCode {
        let inherited = InheritedSocket.take()
        // From here on a signal waits until the daemon asks for it: none is lost, however early it comes.
        let signals = SignalSource([SIGTERM, SIGINT, SIGHUP])
        // Whoever closes the terminal of a service means its end.
        let hasTerminal = isatty(STDIN_FILENO) == 1
        ProcessSettings.ignoreBrokenPipes()
        ProcessSettings.protectSecrets()
        let sink: any LineSink = JournalSink.detected() ?? StandardErrorSink.detected
        let openFiles = ProcessSettings.raiseOpenFiles()
        guard openFiles >= ProcessSettings.leastOpenFiles else {
            signals.release()
            let line =
                "roombridge: the limit of open files is \(openFiles), must be at least "
                + "\(ProcessSettings.leastOpenFiles): raise LimitNOFILE= of the unit, or ulimit -n of the shell"
            sink.write([line], level: .error, message: "the limit of open files is too low")
            return .configuration
        }
        let notifier = ServiceNotifier()
        let secrets = SecretSource()
        let configuration: BridgeConfiguration
        do throws(ConfigurationError) {
            configuration = try ConfigurationDecoder.load(config, secrets: secrets)
        } catch {
            // Nothing is there to finish: a signal may end the process while nobody reads this.
            signals.release()
            sink.write(error.issues.map(\.description), level: .error, message: "the configuration was refused")
            notifier.failed(error: EINVAL, status: error.issues.first?.description ?? "the configuration was refused")
            notifier.flush(within: .milliseconds(300), barrier: true)
            return .configuration
        }
        let log = LogQueue(sink: sink, throttle: sink.isThrottled ? LogThrottle() : nil)
        defer { log.close() }
        let directory = stateDirectory ?? usualStateDirectory
        let daemon = Daemon(
            configuration: configuration,
            reload: Reload(file: config, running: configuration, endsWithTerminal: hasTerminal),
            stateDirectory: directory,
            control: inherited.map { .inherited($0) } ?? control.map { .path($0) } ?? .usual(stateDirectory: directory),
            secrets: secrets,
            signals: signals,
            notifier: notifier,
            logger: Logger(queue: log, level: configuration.logLevel)
        )
        return daemon.run()
    }

    /// Where the state is unless the command line says otherwise.
    static var usualStateDirectory: String { environmentStateDirectory ?? defaultStateDirectory }

    /// systemd separates several by colons; the first is ours.
    private static var environmentStateDirectory: String? {
        guard let value = getenv("STATE_DIRECTORY") else { return nil }
        return String(cString: value).split(separator: ":").first.map(String.init)
    }
}
