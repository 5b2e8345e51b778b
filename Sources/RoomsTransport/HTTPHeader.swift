package import RoomsRuntime

/// A field that the owner of a connection adds to its request; the value may be a credential.
package struct HTTPHeader: Hashable, Sendable {
    package let name: ByteString
    package let value: Secret

    package init(name: ByteString, value: Secret) {
        self.name = name
        self.value = value
    }
}
