internal import RoomsRuntime
internal import RoomsTransport
internal import RoomsWire

/// What a request to the auth route led to.
enum AuthOutcome: Equatable {
    /// Everything that was asked for, each with a grant or an error.
    case answered(TokenAnswer)
    /// The same error for all of it; `pause` is what the route asks for.
    case failed(RoomError, pause: Duration?)

    /// Strict: what is not as it should be is `unavailable`, for the room or for all of them.
    init(_ result: Result<TransferAnswer, TransportError>, to request: AuthRequest, maxToken: Int) {
        switch result {
        case .failure(let error):
            self = .failed(RoomError(.unavailable, error.message), pause: nil)
        case .success(let answer):
            do throws(RoomError) {
                self = .answered(try AnswerForm(maxToken: maxToken).read(answer, request))
            } catch {
                self = .failed(error, pause: answer.retryAfter)
            }
        }
    }
}

/// The form of an answer: `{"rooms":{NAME:{"token":…,"keys":{…}}|{"error":…}},"connection":…}`.
private struct AnswerForm {
    let maxToken: Int

    func read(_ answer: TransferAnswer, _ request: AuthRequest) throws(RoomError) -> TokenAnswer {
        let root = try document(answer)
        guard root.members != nil else { throw flaw("is not an object") }
        var tokens = TokenAnswer()
        if request.wantsConnection { tokens.connection = connection(root) }
        guard !request.rooms.isEmpty else { return tokens }
        guard let members = root["rooms"]?.members else {
            throw flaw(#"has no object "rooms" (in PHP an empty one is written with (object) [])"#)
        }
        let rooms = Dictionary(members.map { ($0.key, $0.value) }) { $1 }
        for name in request.rooms {
            tokens.rooms[name] = rooms[name].map(grant) ?? .failure(flaw("does not have the room"))
        }
        return tokens
    }

    private func document(_ answer: TransferAnswer) throws(RoomError) -> JSONNode {
        switch answer.status {
        case 200..<300:
            break
        case 401, 403:
            let hint = "it does not know this user, check the headers that the options give"
            throw RoomError(.unauthorized, "the auth route answered \(answer.status): \(hint)")
        case 300..<400:
            let hint = "redirects are not followed, give the URL that it leads to"
            throw RoomError(.unavailable, "the auth route answered \(answer.status): \(hint)")
        default:
            throw RoomError(.unavailable, "the auth route answered \(answer.status)")
        }
        do throws(JSONError) {
            return try JSONDocument.parse(answer.body).root
        } catch {
            let type = answer.contentType.map { " but \(ByteString(Array($0.bytes.prefix(64))))" } ?? ""
            // What stands in the text stays out of the error: there may be tokens in it.
            throw flaw("is not JSON\(type), from \(error.line):\(error.column) on")
        }
    }

    private func connection(_ root: JSONNode) -> Result<Secret?, RoomError> {
        guard let node = root["connection"], !node.isNull else { return .success(nil) }
        return token(node, #"has a "connection""#).map { $0 }
    }

    private func grant(_ node: JSONNode) -> Result<Grant, RoomError> {
        guard node.members != nil else { return .failure(flaw("has something other than an object for the room")) }
        if let error = node["error"], !error.isNull {
            guard let code = error.string?.bytes, (1...64).contains(code.count), code.allSatisfy(isCodeByte) else {
                return .failure(flaw(#"has an "error" that is no code, such as forbidden"#))
            }
            let name = RoomError.Code(rawValue: String(decoding: code, as: UTF8.self))
            return .failure(RoomError(name, "the auth route says so"))
        }
        var grant = Grant()
        do throws(RoomError) {
            if let node = node["token"], !node.isNull { grant.token = try token(node, #"has a "token""#).get() }
            if let node = node["keys"], !node.isNull { grant.keys = try keys(node) }
        } catch {
            return .failure(error)
        }
        guard grant.token != nil || !grant.keys.isEmpty else {
            return .failure(flaw("has neither a token nor an error for the room"))
        }
        return .success(grant)
    }

    private func token(_ node: JSONNode, _ what: String) -> Result<Secret, RoomError> {
        guard let text = node.string else { return .failure(flaw("\(what) that is not a string")) }
        guard !text.isEmpty else { return .failure(flaw("\(what) that is empty")) }
        guard text.count <= maxToken else { return .failure(flaw("\(what) of more than \(maxToken) bytes")) }
        return .success(Secret(text.bytes))
    }

    private func keys(_ node: JSONNode) throws(RoomError) -> [ByteString: Secret] {
        // What PHP makes of an empty map.
        if node.elements?.isEmpty == true { return [:] }
        guard let members = node.members else { throw flaw(#"has "keys" that are not an object"#) }
        var keys: [ByteString: Secret] = [:]
        for member in members {
            guard let text = member.value.string, let key = Base64.decodeURL(text.bytes), key.count == 32 else {
                throw flaw("has a key that is not 32 bytes in base64url")
            }
            keys[member.key] = Secret(key)
        }
        return keys
    }

    private func isCodeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: false
        }
    }

    private func flaw(_ what: String) -> RoomError { RoomError(.unavailable, "the auth route's answer \(what)") }
}
