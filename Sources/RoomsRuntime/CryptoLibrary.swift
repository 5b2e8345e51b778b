internal import CRoomsCrypto

/// The libcrypto that this process runs with.
package enum CryptoLibrary {
    package static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
