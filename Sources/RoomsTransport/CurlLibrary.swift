internal import CRoomsCurl

/// The libcurl that this process runs with.
package enum CurlLibrary {
    package static var version: String {
        // The first layout of the answer has all that is asked for here.
        curl_version_info(CURLVERSION_FIRST).map { String(cString: $0.pointee.version) } ?? "unknown"
    }
}
