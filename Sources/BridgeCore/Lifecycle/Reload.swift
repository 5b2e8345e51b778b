internal import RoomsRuntime

/// What SIGHUP does: looks at the configuration file again and says what it found.
///
/// The configuration that runs stays as it is: a changed one counts from the next start on.
struct Reload {
    let file: String
    let running: BridgeConfiguration
    /// The service belongs to a terminal: SIGHUP means that it was closed.
    let endsWithTerminal: Bool

    func run(_ logger: Logger) {
        do throws(ConfigurationError) {
            let found = try ConfigurationDecoder.load(file)
            if found == running {
                logger.notice("the configuration is good and as it was", LogField(.path, file))
            } else {
                logger.warning(
                    "the configuration is good and has changed: it counts from the next start on",
                    LogField(.path, file),
                    LogField(.hint, "restart the service: systemctl restart roombridge; nothing is lost by that")
                )
            }
        } catch {
            for issue in error.issues {
                logger.error(
                    "the configuration file has a mistake: the configuration that runs stays as it is",
                    LogField(.error, issue.description)
                )
            }
        }
    }
}
