/// What the command line asks for.
struct Invocation: Equatable {
    enum Request: Equatable {
        case help
        case version
        case tail(Invocation)
    }

    private enum Option: String, CaseIterable {
        case auth = "--auth"
        case header = "--header"
        case headerFile = "--header-file"
        case tokenFile = "--token-file"
        case event = "--event"
        case history = "--history"
        case state = "--state"
        case json = "--json"
        case text = "--text"
        case help = "--help"
        case version = "--version"
    }

    private(set) var url = ""
    private(set) var rooms: [String] = []
    private(set) var auth: String?
    /// As `Name: value`.
    private var headers: [String] = []
    private var headerFiles: [String] = []
    private(set) var tokenFile: String?
    /// Names of the events that are wanted; empty: all.
    private var events: [String] = []
    /// How many of the events that a room keeps are printed before the first new one.
    private(set) var history = 0
    private(set) var state: String?
    /// Nil: as it fits where the output goes.
    private(set) var isJSON: Bool?

    /// `arguments` without the program's name; a value stands behind its option, or behind `=`.
    static func parse(_ arguments: [String]) throws(Failure) -> Request {
        var wish = Invocation()
        var words: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                words += rest
                break
            }
            guard argument.hasPrefix("-") else {
                words.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = parts[0] == "-h" ? .help : Option(rawValue: parts[0]) else {
                let all = Option.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure(.usage, "there is no option \(parts[0]), only \(all)")
            }
            switch option {
            case .help: return .help
            case .version: return .version
            case .json, .text:
                guard parts.count == 1 else { throw Failure(.usage, "\(option.rawValue) takes no value") }
                wish.isJSON = option == .json
            default:
                guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
                    throw Failure(.usage, "\(option.rawValue) needs a value")
                }
                try wish.take(option, value)
            }
        }
        guard words.count > 1 else {
            let example = "roomtail ws://127.0.0.1:8000/connection/websocket shop"
            throw Failure(.usage, "it needs the URL of a server and a room, such as \(example)")
        }
        wish.url = words.removeFirst()
        wish.rooms = words
        return .tail(wish)
    }

    private mutating func take(_ option: Option, _ value: String) throws(Failure) {
        switch option {
        case .auth: auth = value
        case .header: headers.append(value)
        case .headerFile: headerFiles.append(value)
        case .tokenFile: tokenFile = value
        case .event: events.append(value)
        case .history:
            guard let count = Int(value), (0...10_000).contains(count) else {
                throw Failure(.usage, "--history \(value): a number from 0 to 10000 would be right")
            }
            history = count
        case .state: state = value
        case .json, .text, .help, .version: break
        }
    }

    /// By bytes: two names that differ only in composed and decomposed accents are two.
    func wants(_ event: String) -> Bool {
        events.isEmpty || events.contains { $0.utf8.elementsEqual(event.utf8) }
    }

    /// The headers of requests to the auth route, those of the files included.
    func allHeaders() throws(Failure) -> [String: String] {
        var all: [String: String] = [:]
        func add(_ line: String, from place: String) throws(Failure) {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmed }
            guard parts.count == 2, !parts[0].isEmpty else {
                throw Failure(.usage, "\(place): \"Name: value\" would be right")
            }
            all[parts[0]] = parts[1]
        }
        for line in headers { try add(line, from: "--header") }
        for file in headerFiles {
            for line in try TextFile.lines(file) { try add(line, from: file) }
        }
        return all
    }
}
