internal import Glibc
package import RoomsRuntime
internal import RoomsWire

/// What is good in a configuration but will not do under systemd, as the unit of the package runs it.
package enum ConfigurationAdvice {
    /// Folders that the unit hides, and why.
    private static let hidden: [(beginning: ByteString, reason: String)] = [
        ("/tmp/", "PrivateTmp= gives the service a /tmp of its own"),
        ("/var/tmp/", "PrivateTmp= gives the service a /var/tmp of its own"),
        ("/home/", "ProtectHome= hides /home"), ("/root/", "ProtectHome= hides /root"),
        ("/run/user/", "ProtectHome= hides /run/user"),
    ]

    /// Of a file that was found to be good; nothing on a machine, or in a container, that systemd does not run.
    package static func load(_ path: String) -> [ConfigurationIssue] {
        // What sd_booted(3) looks at.
        guard access("/run/systemd/system", F_OK) == 0,
            let bytes = try? InputFile.read(ByteString(path), limit: 16 << 20)
        else { return [] }
        return find(in: bytes, file: ByteString(path))
    }

    package static func find(in bytes: [UInt8], file: ByteString) -> [ConfigurationIssue] {
        guard let document = try? JSONDocument.parse(bytes) else { return [] }
        let problems = ConfigurationProblems(file: file)
        look(at: ConfigurationValue(node: document.root, path: "", problems: problems))
        return problems.issues
    }

    /// A text under one of these keys can be nothing else: what operators name themselves has objects as values.
    private static func look(at value: ConfigurationValue) {
        for element in value.node.elements == nil ? [] : value.list("") ?? [] { look(at: element) }
        for entry in value.node.members == nil ? [] : value.entries("") ?? [] {
            guard let text = entry.value.node.string else {
                look(at: entry.value)
                continue
            }
            if entry.name == "env" {
                entry.value.reject(
                    "warning: others may read the environment of a service (systemctl show), "
                        + "better a file in /etc/roombridge/credentials and {\"credential\": \"NAME\"}"
                )
            } else if entry.name == "unix", let place = hidden.first(where: { text.hasPrefix($0.beginning) }) {
                entry.value.reject("warning: \(place.reason), so it cannot reach this socket, better one in /run")
            }
        }
    }
}
