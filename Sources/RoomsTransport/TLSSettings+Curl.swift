internal import CRoomsCurl
internal import RoomsRuntime

extension TLSSettings {
    /// Tells a handle of libcurl.
    func apply(to easy: UnsafeMutableRawPointer) {
        shim_setopt_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let authorities {
            Self.set(easy, CURLOPT_CAINFO_BLOB, authorities.bytes)
            shim_setopt_string(easy, CURLOPT_CAPATH, nil)
        } else if let authorityFile {
            shim_setopt_string(easy, CURLOPT_CAINFO, authorityFile)
            shim_setopt_string(easy, CURLOPT_CAPATH, nil)
            // Or libcurl trusts for a day what it has read once.
            shim_forget_authorities(easy)
        }
        if let identity {
            Self.set(easy, CURLOPT_SSLCERT_BLOB, identity.certificates.bytes)
            Self.set(easy, CURLOPT_SSLKEY_BLOB, identity.key.bytes)
        }
    }

    /// libcurl takes a copy.
    private static func set(_ easy: UnsafeMutableRawPointer, _ option: CURLoption, _ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress else { return }
            _ = shim_setopt_blob(easy, option, start, buffer.count)
        }
    }
}
