internal import Glibc
internal import LocalHTTP
internal import RoomsRuntime

/// Where the control API is.
package enum ControlSocket: Sendable {
    /// The service manager listens on it.
    case inherited(Int32)
    /// The operator's choice.
    case path(String)
    /// Beside the state.
    case usual(stateDirectory: String)

    package static let name = "control.sock"

    package static func path(in stateDirectory: String) -> String { stateDirectory + "/" + name }

    /// Where `roombridge.socket` listens for a service under systemd.
    static let unitPath = "/run/roombridge/control.sock"

    /// Where a command finds the service: what its options say, else the unit's socket, else beside the usual state.
    static func path(given socket: String?, stateDirectory: String?, unitPath: String = unitPath) -> String {
        if let socket { return socket }
        if let stateDirectory { return path(in: stateDirectory) }
        return access(unitPath, F_OK) == 0 ? unitPath : path(in: Service.usualStateDirectory)
    }

    /// The file, where this process makes it.
    var file: String? {
        switch self {
        case .inherited: nil
        case .path(let path): path
        case .usual(let directory): Self.path(in: directory)
        }
    }

    func listen() throws(ListenError) -> UnixListener {
        switch self {
        case .inherited(let descriptor): UnixListener(inherited: descriptor)
        case .path(let path): try UnixListener(unixPath: path)
        case .usual(let directory): try UnixListener(unixPath: Self.path(in: directory))
        }
    }
}
