internal import Glibc
internal import RoomsRuntime
internal import RoomsWire

/// `roombridge status`: how the running service is doing.
package struct StatusCommand: Equatable, Sendable {
    /// The answer as it is, in place of a page for people.
    package var isJSON = false
    /// The control socket.
    package var socket: String?
    package var stateDirectory: String?

    package init() {}

    /// Prints it through `say`, which gets lines without their ends.
    package func run(onTerminal isTerminal: Bool, say: (String) -> Void) throws(ControlError) {
        let client = ControlClient(path: ControlSocket.path(given: socket, stateDirectory: stateDirectory))
        let status = try client.call("GET", "/v1/status")
        if isJSON { return say(String(decoding: status.raw, as: UTF8.self)) }
        let hasColour = isTerminal && getenv("NO_COLOR") == nil
        let page = StatusPage(hasColour: hasColour, width: isTerminal ? Self.terminalWidth : nil)
        for line in page.lines(status) { say(line) }
    }

    private static var terminalWidth: Int {
        var size = winsize()
        let result = withUnsafeMutablePointer(to: &size) { ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), $0) }
        return result == 0 && size.ws_col > 0 ? max(40, Int(size.ws_col)) : 80
    }
}
