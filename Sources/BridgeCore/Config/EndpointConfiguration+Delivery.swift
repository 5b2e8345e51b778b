internal import BridgeDelivery
internal import BridgeModel
internal import RoomsRuntime
internal import RoomsTransport

extension EndpointConfiguration {
    /// What the dispatcher needs to know of this endpoint.
    func settings(id: EndpointID, _ credentials: EndpointCredentials) -> EndpointSettings {
        let (stream, path, host) = address
        var settings = EndpointSettings(id: id, name: name, target: stream, path: path, host: host)
        settings.use(credentials)
        settings.userAgent = ByteString("roombridge/\(Version.number)")
        settings.concurrency = concurrency
        settings.statusPolicy = statusPolicy
        settings.givesUp = givesUp
        settings.infersPoison = infersPoison
        settings.retry.longestAsked = longestPause
        settings.format = format
        settings.batch = batch
        if case .stream(_, let acknowledgement) = target { settings.stream = StreamSettings(acknowledgement) }
        return settings
    }

    /// Where it is, the target of its requests, and the host they name.
    private var address: (StreamTarget, ByteString, ByteString) {
        switch target {
        case .url(let url, let mayBePlain):
            var stream = url.streamTarget(tls: TLSSettings())
            stream.isLoopbackOnly = !url.isSecure && !mayBePlain
            return (stream, url.target, url.hostField)
        case .unix(let socket, let path):
            return (StreamTarget(unixPath: socket), path, "localhost")
        case .stream(let socket, _):
            return (StreamTarget(unixPath: socket), "/", "localhost")
        }
    }
}
