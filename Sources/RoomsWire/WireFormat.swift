package import RoomsRuntime

/// The two forms of the client protocol: the same messages, written differently.
package enum WireFormat: Sendable, CaseIterable {
    case json
    case protobuf

    /// As clients ask for it in the handshake.
    package var subprotocol: ByteString {
        switch self {
        case .json: "centrifuge-json"
        case .protobuf: "centrifuge-protobuf"
        }
    }
}
