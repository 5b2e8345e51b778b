internal import CSystemd
internal import RoomsRuntime

/// A listening socket that the service manager made for this process.
package enum InheritedSocket {
    /// Its descriptor; nil when there is none.
    ///
    /// Called once, before any other thread is there: the environment forgets it, so that no child takes it for its own.
    package static func take() -> Int32? {
        // The first one stands behind the standard descriptors.
        sd_listen_fds(1) > 0 ? 3 : nil
    }
}
