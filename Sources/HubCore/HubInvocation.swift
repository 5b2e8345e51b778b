internal import LocalHTTP
internal import RoomsRuntime

/// What the command line of `roomhub` asks for.
struct HubInvocation {
    enum Option: String, CaseIterable {
        case config = "--config"
        case listen = "--listen"
        case faults = "--faults"
        case check = "--check"
        case help = "--help"
        case version = "--version"
    }

    private(set) var config: String?
    private(set) var listen: [ListenAddress] = []
    private(set) var faults: ListenAddress?
    /// The configuration is read, and that is all.
    private(set) var isCheck = false
    private(set) var wantsHelp = false
    private(set) var wantsVersion = false

    /// `arguments` without the program's name; a value stands behind its option or behind `=`.
    init(_ arguments: [String]) throws(HubUsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let option = try Self.option(parts[0])
            var value = parts.count == 2 ? parts[1] : nil
            switch option {
            case .config, .listen, .faults: if value == nil { value = rest.popFirst() }
            case .check, .help, .version:
                guard value == nil else { throw HubUsageError("\(option.rawValue) takes no value") }
            }
            try take(option, value ?? "")
        }
        if isCheck, config == nil { throw HubUsageError("--check needs a configuration: --config FILE") }
    }

    private static func option(_ name: String) throws(HubUsageError) -> Option {
        if name == "-h" { return .help }
        if let option = Option(rawValue: name) { return option }
        guard name.hasPrefix("-") else {
            throw HubUsageError("it takes no argument \"\(name)\"; a configuration is named with --config FILE")
        }
        let near = Option.allCases.map(\.rawValue).min {
            ByteString(name).distance(to: ByteString($0)) < ByteString(name).distance(to: ByteString($1))
        }
        if let near, ByteString(name).distance(to: ByteString(near)) <= 3 {
            throw HubUsageError("there is no option \"\(name)\", did you mean \(near)?")
        }
        throw HubUsageError("there is no option \"\(name)\", only \(Option.list)")
    }

    private mutating func take(_ option: Option, _ value: String) throws(HubUsageError) {
        switch option {
        case .config:
            guard !value.isEmpty else { throw HubUsageError("--config needs a file") }
            guard config == nil else { throw HubUsageError("--config was given twice, there is one configuration") }
            config = value
        case .listen:
            guard let address = ListenAddress(ByteString(value)) else {
                let found = value.isEmpty ? "" : "\"\(ByteString(value))\" is none: "
                throw HubUsageError("--listen needs an address, \(found)write 127.0.0.1:8000 or [::1]:8000")
            }
            listen.append(address)
        case .faults:
            guard let address = ListenAddress(ByteString(value)), address.isLoopback else {
                let found = value.isEmpty ? "" : "\"\(ByteString(value))\" is none: "
                throw HubUsageError("--faults needs a loopback address, \(found)write 127.0.0.1:8001 or [::1]:8001")
            }
            guard faults == nil else { throw HubUsageError("--faults was given twice, there is one such address") }
            faults = address
        case .check: isCheck = true
        case .help: wantsHelp = true
        case .version: wantsVersion = true
        }
    }
}

extension HubInvocation.Option {
    static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

/// A mistake on the command line; the message says what would be right.
struct HubUsageError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
