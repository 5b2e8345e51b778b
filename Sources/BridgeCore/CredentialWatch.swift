internal import BridgeDelivery
internal import BridgeModel
internal import RoomsRuntime

/// Reads the secrets and certificates of endpoints again when their files change; the last good ones stay in use as long
/// as the new ones are not good.
///
/// Belongs to the main loop.
final class CredentialWatch {
    private struct Subject {
        let id: EndpointID
        let configuration: EndpointConfiguration
        var credentials: EndpointCredentials
        /// What was wrong when it was read last; warned of once.
        var flaw: String?
    }

    private let secrets: SecretSource
    private let loop: EventLoop
    private let logger: Logger
    private let renew: (EndpointCredentials, EndpointID) -> Void
    private var subjects: [Subject]
    private var watches: [PathWatch] = []
    private var timer: TimerID?
    private var isDue = false

    /// A file is often written in several steps, and a certificate beside its key.
    private static let patience = Duration.milliseconds(200)
    /// For what no watch tells: a folder that is a link and is turned to another one, a file that is gone.
    private static let interval = Duration.seconds(10)

    /// `endpoints` are those with what they are spoken to with now.
    init(
        _ endpoints: [(id: EndpointID, configuration: EndpointConfiguration, credentials: EndpointCredentials)],
        secrets: SecretSource,
        loop: EventLoop,
        logger: Logger,
        renew: @escaping (EndpointCredentials, EndpointID) -> Void
    ) {
        self.secrets = secrets
        self.loop = loop
        self.logger = logger
        self.renew = renew
        subjects = endpoints.filter { !$0.configuration.credentialFiles.isEmpty }
            .map { Subject(id: $0.id, configuration: $0.configuration, credentials: $0.credentials) }
    }

    func start() {
        let files = subjects.reduce(into: Set<ByteString>()) { $0.formUnion($1.configuration.credentialFiles) }
        guard !files.isEmpty else { return }
        watches = files.map { path in
            PathWatch(absolute(path), on: loop, tellsOfContent: true) { [weak self] in self?.look(after: Self.patience)
            }
        }
        lookLater()
    }

    /// Has to be called before the last reference goes.
    func stop() {
        if let timer { loop.cancel(timer) }
        timer = nil
        for watch in watches { watch.cancel() }
        watches = []
        subjects = []
    }

    private func absolute(_ path: ByteString) -> ByteString {
        guard path.bytes.first != UInt8(ascii: "/") else { return path }
        return ByteString(InputFile.workingDirectory.bytes + [UInt8(ascii: "/")] + path.bytes)
    }

    private func lookLater() {
        timer = loop.schedule(after: Self.interval) { [weak self] in
            self?.look()
            self?.lookLater()
        }
    }

    private func look(after delay: Duration) {
        guard !isDue else { return }
        isDue = true
        loop.schedule(after: delay) { [weak self] in
            self?.isDue = false
            self?.look()
        }
    }

    private func look() {
        for index in subjects.indices { look(at: index) }
    }

    private func look(at index: Int) {
        let subject = subjects[index]
        let logger = logger.with(LogField(.endpoint, subject.configuration.name))
        do throws(InputError) {
            let credentials = try subject.configuration.credentials(secrets)
            let hasChanged = credentials != subject.credentials
            if hasChanged {
                logger.notice("changed secrets or certificates are in use from now on")
                renew(credentials, subject.id)
            } else if subject.flaw != nil {
                logger.notice("the secrets and certificates can be read again, nothing has changed")
            }
            subjects[index].credentials = credentials
            subjects[index].flaw = nil
        } catch {
            guard subject.flaw != error.message else { return }
            subjects[index].flaw = error.message
            logger.warning(
                "changed secrets or certificates cannot be used, the last good ones stay in use",
                LogField(.error, error.message)
            )
        }
    }
}
