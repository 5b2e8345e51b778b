internal import BridgeStore
internal import RoomsRuntime
internal import RoomsTransport

/// The one place where RoomBridge's version stands.
package enum Version {
    package static let number = "0.1.0"

    /// RoomBridge's version and those of the libraries that this process runs with.
    package static var report: String {
        """
        roombridge \(number)
        libcurl \(CurlLibrary.version)
        SQLite \(Store.libraryVersion)
        OpenSSL \(CryptoLibrary.version)
        """
    }
}
