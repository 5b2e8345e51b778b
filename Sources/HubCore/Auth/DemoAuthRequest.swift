internal import RoomsRuntime
internal import RoomsWire

/// What an app asks of its auth route: `{"rooms":["order:1042",…],"connection":true}`.
struct DemoAuthRequest {
    private static let roomLimit = 1_000

    /// Each once, in the order of the request.
    private(set) var rooms: [ByteString] = []
    private(set) var wantsConnection = false

    init(_ body: [UInt8]) throws(DemoAuthFault) {
        let root: JSONNode
        do throws(JSONError) {
            root = try JSONDocument.parse(body).root
        } catch {
            throw .badRequest("\(error.position.line):\(error.position.column): \(error.what), \(error.remedy)")
        }
        let example = #"write {"rooms":["order:1042"]}"#
        guard root.members != nil else { throw .badRequest(root, "", "is not an object", example) }
        let (list, connection) = (root["rooms"], root["connection"])
        guard list != nil || connection != nil else { throw .badRequest(root, "", "asks for nothing", example) }
        if let list {
            guard let elements = list.elements else {
                throw .badRequest(list, "rooms: ", "is not a list", #"write ["order:1042"]"#)
            }
            guard elements.count <= Self.roomLimit else {
                let remedy = "ask for at most \(Self.roomLimit) at a time"
                throw .badRequest(list, "rooms: ", "has \(elements.count) names", remedy)
            }
            var seen: Set<ByteString> = []
            for (index, element) in elements.enumerated() {
                guard let name = element.string else {
                    throw .badRequest(element, "rooms[\(index)]: ", "is not a string", #"write "order:1042""#)
                }
                if seen.insert(name).inserted { rooms.append(name) }
            }
        }
        if let connection {
            guard let value = connection.bool else {
                throw .badRequest(connection, "connection: ", "is not a boolean", "write true or false")
            }
            wantsConnection = value
        }
    }
}

/// Why the whole of a request is refused: what an app's author reads.
struct DemoAuthFault: Error, Equatable {
    let status: UInt32
    let code: String
    /// What is wrong, what would be right.
    let message: String

    static func badRequest(_ message: String) -> DemoAuthFault {
        DemoAuthFault(status: 400, code: "bad_request", message: message)
    }

    static func badRequest(_ node: JSONNode, _ path: String, _ what: String, _ remedy: String) -> DemoAuthFault {
        badRequest("\(node.line):\(node.column): \(path)\(what), \(remedy)")
    }

    static let unauthorized = DemoAuthFault(
        status: 401,
        code: "unauthorized",
        message: "no user has this bearer, write Authorization: Bearer NAME with a user of the configuration"
    )
}
