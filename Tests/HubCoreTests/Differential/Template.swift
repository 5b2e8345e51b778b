import Foundation
import RoomsRuntime
import RoomsWire

@testable import HubCore

/// Texts with places for what only a run knows.
enum Template {
    /// A place for a token with those claims, signed at the moment it is sent.
    static func token(_ claims: String) -> String { "$token(\(url(claims)))" }

    /// The same with a wrong signature.
    static func badToken(_ claims: String) -> String { "$badtoken(\(url(claims)))" }

    private static func url(_ text: String) -> String {
        String(decoding: Base64.encodeURL(Array(text.utf8)), as: UTF8.self)
    }

    static func fill(_ text: String, _ naming: Naming) -> String {
        guard text.contains("$") || text.contains("\"@") else { return text }
        let place = #/\$(token|badtoken|epoch|client)\(([^)]*)\)/#
        let filled = text.replacing(place) { match in
            let argument = String(match.2)
            switch match.1 {
            case "epoch": return Int(argument).flatMap(naming.epoch) ?? "no epoch"
            case "client": return naming.client(named: argument) ?? "no client"
            default: return signed(argument, naming, isGood: match.1 == "token")
            }
        }
        return timed(filled)
    }

    static func fill(_ text: ByteString, _ naming: Naming) -> ByteString {
        text.bytes.contains(UInt8(ascii: "$")) ? ByteString(fill(text.string, naming)) : text
    }

    /// The command with its tokens and epochs filled in.
    static func fill(_ command: Command, _ naming: Naming) -> Command {
        func filled(_ request: SubscribeRequest) -> SubscribeRequest {
            var request = request
            request.token = fill(request.token, naming)
            request.epoch = fill(request.epoch, naming)
            return request
        }
        var command = command
        switch command.request {
        case .connect(var request):
            request.token = fill(request.token, naming)
            for index in request.subs.indices { request.subs[index].request = filled(request.subs[index].request) }
            command.request = .connect(request)
        case .subscribe(let request): command.request = .subscribe(filled(request))
        case .history(var request):
            if let since = request.since { request.since?.epoch = fill(since.epoch, naming) }
            command.request = .history(request)
        case .refresh(let token): command.request = .refresh(token: fill(token, naming))
        case .subRefresh(let channel, let token):
            command.request = .subRefresh(channel: channel, token: fill(token, naming))
        default: break
        }
        return command
    }

    private static func signed(_ claims: String, _ naming: Naming, isGood: Bool) -> String {
        let text = String(decoding: Base64.decodeURL(Array(claims.utf8)) ?? [], as: UTF8.self)
        let secret = isGood ? Conversation.secret : Secret("another secret")
        return Conversation.token(fill(text, naming), secret: secret, header: #"{"alg":"HS256","typ":"JWT"}"#).string
    }

    private static func timed(_ text: String) -> String {
        let now = SystemClock.wallMilliseconds / 1_000
        return text.replacing(#/"@(-?\d+)"/#) { match in "\(now + (Int64(match.1) ?? 0))" }
    }
}
