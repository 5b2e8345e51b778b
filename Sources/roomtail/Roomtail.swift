import Glibc
import Rooms

/// Prints what happens in rooms: an example of an app that needs nothing but the library.
@main enum Roomtail {
    static let version = "0.1.0"

    @MainActor static func main() async {
        Ending.prepareProcess()
        do throws(Failure) {
            switch try Invocation.parse(Array(CommandLine.arguments.dropFirst())) {
            case .help: print(Help.text)
            case .version: print("roomtail \(version)")
            case .tail(let wish): try await tail(wish)
            }
        } catch {
            complain(error.message)
            if error.status == .usage { complain("try roomtail --help") }
            exit(error.status.rawValue)
        }
    }

    /// Follows the rooms until a signal, or until nothing more can come of it.
    @MainActor private static func tail(_ wish: Invocation) async throws(Failure) {
        let options = try options(wish)
        let positions = try wish.state.map { file throws(Failure) in try Positions(file) }
        let rt: Realtime
        do {
            rt = try Realtime(url: wish.url, options: options)
        } catch {
            throw Failure(.usage, "\(error)")
        }
        let tail = Tail(rt, wish, positions)
        Ending.watch()
        await tail.followAll()
        let failure = await Ending.reached
        await rt.close()
        if let failure { throw failure }
    }

    private static func options(_ wish: Invocation) throws(Failure) -> RealtimeOptions {
        var options = RealtimeOptions()
        options.auth = wish.auth
        options.token = try wish.tokenFile.map { file throws(Failure) in try TextFile.lines(file).first ?? "" }
        let headers = try wish.allHeaders()
        options.headers = { headers }
        options.log = { level, line in
            if level == .error || level == .warning { complain(line) }
        }
        return options
    }

    private static func complain(_ message: String) {
        _ = try? Descriptor.standardError.write("roomtail: \(message.printable)\n")
    }
}
