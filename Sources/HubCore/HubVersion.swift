/// What `roomhub --version` and the connect reply say.
package enum HubVersion {
    package static let text = "0.1.0"
}
