internal import BridgeTestSupport
internal import Foundation
internal import RoomsRuntime
internal import Testing

extension EndToEnd {
    /// What `roomtail` prints, where, and how it ends.
    @Suite(.timeLimit(.minutes(1))) struct TailTests {
        private let hub: HubRun
        private let folder: TemporaryDirectory
        private let room = "shop"

        init() async throws {
            folder = try TemporaryDirectory()
            let bearer = try folder.write("bearer-of-ann", to: "bearer")
            hub = try await HubRun(
                """
                {
                  "rooms": [
                    { "pattern": "shop", "history": 100, "public": true },
                    { "pattern": "chat:{id}", "presence": true, "public": true },
                    { "pattern": "order:{id}", "history": 2000, "public": true },
                    { "pattern": "closed:{id}" }
                  ],
                  "auth": { "users": { "ann": { "rooms": ["closed:{id}"], "bearer": { "file": "\(bearer)" } } } }
                }
                """
            )
        }

        private var url: String { "ws://127.0.0.1:\(hub.port)/connection/websocket" }

        // MARK: JSON

        @Test func `a line holds an event exactly as it was published`() async throws {
            let tail = try TailProcess([url, room, room])
            try await tail.joined([room])
            let data = #"{"z":0.10,"a":[-0,1e400,12345678901234567890,9223372036854775807],"Ä\u0000":"ü😀","z":null}"#
            try await hub.publish(#"{"event":"updated","data":\#(data)}"#, to: [room])
            try await hub.publish(#""text""#, to: [room])
            _ = try await hub.api("publish", #"{"channel":"shop","b64data":"AP8h"}"#)
            try await tail.wait(for: 3, "three events") { $0.events(of: room) }
            let events = tail.events(of: room)
            #expect(events.map(\.event) == ["updated", "message", "message"])
            #expect(events[0].data.map { String(decoding: $0.raw, as: UTF8.self) } == data)
            let line = JSONSlice(events[0].description)
            #expect(line["from"]?.isNull == true && events[0].id.hasSuffix(":1") && !events[0].isReplayed)
            #expect((line["at"]?.unsigned ?? 0) > 1_700_000_000_000)
            #expect(JSONSlice(events[2].description)["data_base64"]?.string == "AP8h" && events[2].data == nil)
            #expect(try await tail.child.stop() == .status(0))
        }

        @Test func `what the room tells stands under another key, so that nobody can publish it`() async throws {
            let tail = try TailProcess([url, room, "chat:1", "closed:1"])
            try await tail.joined([room, "chat:1"])
            for name in ["joined", "error", "kicked"] {
                try await hub.publish(#"{"event":"\#(name)","data":{"code":"gap"}}"#, to: [room])
            }
            try await tail.wait(for: 3, "three events") { $0.events(of: room) }
            #expect(tail.events(of: room).map(\.event) == ["joined", "error", "kicked"])
            #expect(tail.own("joined", of: room).count == 1 && tail.own("error", of: room).isEmpty)
            try await tail.wait(for: 1, "a refusal") { $0.own("error", of: "closed:1") }
            #expect(tail.own("error", of: "closed:1").first?.data?["code"]?.string == "forbidden")
            let other = try TailProcess([url, "chat:1"])
            try await tail.wait(for: 1, "somebody came") { $0.own("join", of: "chat:1") }
            try await other.joined(["chat:1"])
            #expect(try await other.child.stop() == .status(0))
            try await tail.wait(for: 1, "somebody went") { $0.own("leave", of: "chat:1") }
            #expect(tail.own("count", of: "chat:1").map { $0.data?["n"]?.unsigned } == [1, 2, 1])
            // Joined rooms go on while another is refused.
            #expect(tail.child.exit == nil)
            #expect(try await tail.child.stop() == .status(0))
        }

        @Test func `the events that a room keeps come first, and none of them twice`() async throws {
            for number in 1...150 { try await hub.publish("\(number)", to: [room]) }
            let tail = try TailProcess(["--history", "120", url, room])
            try await tail.wait(for: 100, "what is kept") { $0.events(of: room) }
            try await hub.publish("151", to: [room])
            try await tail.wait(for: 101, "a new one") { $0.events(of: room) }
            #expect(tail.events(of: room).map(\.number) == Array(51...151))
            #expect(tail.events(of: room).map(\.isReplayed) == Array(repeating: true, count: 100) + [false])
            #expect(tail.lines.first?.own == "joined")
            #expect(try await tail.child.stop() == .status(0))
        }

        @Test func `what comes before the history was read is printed once, behind it`() async throws {
            for number in 1...5 { try await hub.publish("\(number)", to: [room]) }
            let pipe = try FullPipe()
            let child = try pipe.start(Programs.tail, ["--history", "3", url, room])
            try await eventually("its subscription") { try await hub.api("channels", "{}").contains("num_clients") }
            // It waits to print that it is joined: these come as new events, and are kept as well.
            for number in 6...10 { try await hub.publish("\(number)", to: [room]) }
            func numbers() -> [Int?] { TailProcess.lines(pipe.drain()).filter { $0.event != nil }.map(\.number) }
            try await eventually("what is kept") { numbers().contains(10) }
            try await hub.publish("11", to: [room])
            try await eventually("a new one") { numbers().contains(11) }
            #expect(numbers() == Array(3...11))
            #expect(try await child.stop() == .status(0))
        }

        @Test func `who is removed from every room has nothing to follow`() async throws {
            let token = try folder.write(TailServers.token("ann", secret: HubRun.tokenSecret), to: "token")
            let tail = try TailProcess(["--token-file", token, url, room, "chat:1"])
            try await tail.joined([room, "chat:1"])
            _ = try await hub.api("unsubscribe", #"{"channel":"chat:1","user":"ann"}"#)
            try await tail.wait(for: 1, "the news") { $0.own("kicked", of: "chat:1") }
            try await hub.publish("1", to: [room])
            try await tail.wait(for: 1, "an event of the other room") { $0.events(of: room) }
            _ = try await hub.api("unsubscribe", #"{"channel":"shop","user":"ann"}"#)
            #expect(try await tail.child.wait() == .status(69))
            #expect(tail.own("kicked", of: room).first?.data?["code"]?.string == "kicked")
            #expect(tail.child.output.hasSuffix("roomtail: no room is left that it may follow\n"))
        }

        @Test func `only events of the names that are wanted`() async throws {
            let tail = try TailProcess(["--event", "b", "--event=message", url, room])
            try await tail.joined([room])
            for name in ["a", "b", "c"] { try await hub.publish(#"{"event":"\#(name)","data":1}"#, to: [room]) }
            try await hub.publish("2", to: [room])
            try await tail.wait(for: 2, "two events") { $0.events(of: room) }
            #expect(tail.events(of: room).map(\.event) == ["b", "message"])
            #expect(try await tail.child.stop() == .status(0))
        }

        @Test func `the auth route is asked with headers of a file`() async throws {
            let headers = try folder.write("\nAuthorization: Bearer bearer-of-ann\n", to: "headers")
            let auth = "http://127.0.0.1:\(hub.port)/auth"
            let tail = try TailProcess(["--auth", auth, "--header-file", headers, url, "closed:1"])
            try await tail.joined(["closed:1"])
            #expect(try await tail.child.stop() == .status(0))
            let nobody = try TailProcess(["--auth", auth, "--header", "Authorization: Bearer ann", url, "closed:1"])
            #expect(try await nobody.child.wait() == .status(69))
            #expect(nobody.own("error", of: "closed:1").first?.data?["code"]?.string == "unauthorized")
        }

        @Test func `the file of places stays small, and a line of it that a crash cut off does no harm`() async throws {
            let state = folder.file("state")
            func text() throws -> String { try String(contentsOfFile: state, encoding: .utf8) }
            let tail = try TailProcess(["--state", state, url, room])
            try await tail.joined([room])
            var sizes: [Int] = []
            for start in stride(from: 0, to: 6_000, by: 500) {
                let commands = (start..<(start + 500)).map { #"{"publish":{"channel":"shop","data":\#($0)}}"# }
                _ = try await hub.api("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
                try await tail.wait(for: 1, "the last") {
                    $0.events(of: room).suffix(1).filter { $0.number == start + 499 }
                }
                sizes.append(try text().utf8.count)
            }
            #expect(sizes.max() ?? 0 < 70_000 && sizes != sizes.sorted())
            #expect(try await tail.child.stop() == .status(0))
            let last = try #require(tail.events(of: room).last?.id)
            #expect(try text().hasSuffix("{\"shop\":\"\(last)\"}\n"))

            try (text() + #"{"shop":"cut"#).write(toFile: state, atomically: true, encoding: .utf8)
            try await hub.publish("6000", to: [room])
            let next = try TailProcess(["--state", state, url, room])
            try await next.wait(for: 1, "what was missed") { $0.events(of: room) }
            #expect(next.events(of: room).map(\.number) == [6_000])
            #expect(try text().hasPrefix("{\"shop\":\"\(last)\"}\n{"))
            #expect(try await next.child.stop() == .status(0))
        }

        // MARK: terminals

        /// What a terminal shows once it has `count` lines.
        private func shown(
            _ options: [String],
            environment: [String: String] = [:],
            publishing data: [String]
        ) async throws -> String {
            let terminal = try Terminal()
            let child = try terminal.start(Programs.tail, options + [url, room], environment: environment)
            try await eventually("joined") { terminal.text.contains("joined") }
            for data in data { try await hub.publish(data, to: [room]) }
            try await eventually("the lines") { terminal.text.split(separator: "\n").count > data.count }
            #expect(try await child.stop() == .status(0))
            return terminal.text
        }

        private let published = [#"{"event":"updated","data":{"status":"sent"}}"#]

        @Test func `on a terminal a line is for people, in colour`() async throws {
            let text = try await shown([], publishing: published)
            let plain = text.replacing(/\u{1b}\[[0-9]+m/, with: "").replacing(
                /[0-9]{2}:[0-9]{2}:[0-9]{2}/,
                with: "TIME"
            )
            #expect(plain == "TIME shop -- joined\nTIME shop updated {\"status\":\"sent\"}\n")
            #expect(text.contains("\u{1b}[36mshop\u{1b}[0m") && text.contains("\u{1b}[1mupdated\u{1b}[0m"))
        }

        @Test(arguments: [["NO_COLOR": "1"], ["TERM": "dumb"]])
        func `without colour where that is not wanted`(_ environment: [String: String]) async throws {
            let text = try await shown([], environment: environment, publishing: published)
            #expect(!text.contains("\u{1b}") && text.contains(" shop updated {"), "\(text)")
        }

        @Test func `JSON on a terminal where it is asked for, and never in colour`() async throws {
            let text = try await shown(["--json"], publishing: published)
            #expect(TailProcess.lines(text).map(\.event) == [nil, "updated"] && !text.contains("\u{1b}"), "\(text)")
        }

        @Test func `lines for people elsewhere where they are asked for, without colour`() async throws {
            let tail = try TailProcess(["--text", url, room])
            _ = try await tail.child.line(containing: " shop -- joined")
            #expect(!tail.child.output.contains("\u{1b}"))
            #expect(try await tail.child.stop() == .status(0))
        }

        /// Escape, the control sequence introducer of one byte, delete, a line feed, an override of the writing direction.
        private static let treacherous = #"\u001b[2J\u009b31m\u007f\n\u202e"#

        @Test(arguments: [["--text"], ["--json"]])
        func `foreign text does nothing to a terminal`(_ options: [String]) async throws {
            let bad = Self.treacherous
            let data = [
                #"{"event":"\#(bad)","data":{"\#(bad)":"\#(bad)"}}"#, #"{"event":"-- joined","data":1}"#,
                #"{"event":"<ann> (replayed)","data":1}"#,
                "\"\u{9b}31m\u{7f}\u{202e}\"",
            ]
            let text = try await shown(options, environment: ["NO_COLOR": "1"], publishing: data)
            let isQuiet = text.unicodeScalars.allSatisfy { scalar in
                scalar == "\n" || ![.control, .format].contains(scalar.properties.generalCategory)
            }
            #expect(isQuiet && text.split(separator: "\n").count == 5, "\(text)")
            if options == ["--text"] {
                #expect(text.contains(#" shop "\u001b[2J\u009b31m\u007f\n\u202e" {"#))
                #expect(text.contains(#" shop "-- joined" 1"#) && text.contains(#" shop "<ann> (replayed)" 1"#))
            } else {
                #expect(
                    try TailProcess.lines(text).allSatisfy {
                        try JSONSerialization.jsonObject(with: Data($0.description.utf8)) is [String: Any]
                    }
                )
            }
        }

        // MARK: the end

        @Test(arguments: [SIGINT, SIGTERM])
        func `a signal ends it with 0, also on its way in`(_ number: Int32) async throws {
            let tail = try TailProcess([url, room])
            try await tail.joined([room])
            tail.child.signal(number)
            #expect(try await tail.child.wait() == .status(0))
            let nowhere = try TailProcess(["ws://127.0.0.1:1/", room])
            _ = try await nowhere.child.line(containing: "roomtail: ")
            nowhere.child.signal(number)
            #expect(try await nowhere.child.wait() == .status(0))
        }

        @Test func `it ends with 0 when nobody reads its output any more, and needs no further event for that`()
            async throws
        {
            let child = try ChildProcess(
                "/bin/bash",
                ["-c", #""$0" "$@" | head -1; echo "ended ${PIPESTATUS[0]}""#, Programs.tail, url, room],
                environment: Programs.quiet
            )
            #expect(try await child.line(containing: "ended") == "ended 0")
            #expect(TailProcess.lines(child.output).map(\.own) == ["joined"])
        }

        @Test func `a signal ends it with 0 while nobody takes its output`() async throws {
            let pipe = try FullPipe()
            let child = try pipe.start(Programs.tail, [url, room, "chat:1", "chat:2"])
            try await eventually("its subscriptions") {
                try await hub.api("channels", "{}").components(separatedBy: "num_clients").count == 4
            }
            #expect(try await child.stop() == .status(0))
        }

        @Test func `output and positions that cannot be written end it with 74`() async throws {
            let full = try ChildProcess(
                "/bin/sh",
                ["-c", #"exec "$0" "$@" >/dev/full"#, Programs.tail, url, room],
                environment: Programs.quiet
            )
            #expect(try await full.wait() == .status(74))
            #expect(full.output == "roomtail: standard output: No space left on device\n")
            let tail = try TailProcess(["--state", folder.file("nowhere/state"), url, room])
            #expect(try await tail.child.wait() == .status(74))
            #expect(tail.child.output.contains("nowhere/state.new: No such file or directory\n"))
        }

        @Test(arguments: [
            ([], "it needs the URL of a server and a room"),
            (["ws://127.0.0.1:1/"], "it needs the URL of a server and a room"),
            (["ftp://127.0.0.1/", "shop"], "the URL begins with ws://"),
            (["--colour", "ws://127.0.0.1:1/", "shop"], "there is no option --colour, only --auth"),
            (
                ["--history", "many", "ws://127.0.0.1:1/", "shop"],
                "--history many: a number from 0 to 10000 would be right"
            ),
            (["--json=1", "ws://127.0.0.1:1/", "shop"], "--json takes no value"),
            (["ws://127.0.0.1:1/", "shop", "--state"], "--state needs a value"),
            (["--header", "secret", "ws://127.0.0.1:1/", "shop"], "--header: \"Name: value\" would be right"),
        ])
        func `a mistake on the command line is told with what would be right`(
            _ arguments: [String],
            _ message: String
        ) async throws {
            let tail = try TailProcess(arguments)
            #expect(try await tail.child.wait() == .status(64))
            #expect(
                tail.child.output.contains(message) && tail.child.output.hasSuffix("roomtail: try roomtail --help\n")
            )
            #expect(!tail.child.output.contains("secret"))
        }

        @Test func `files that cannot be used end it with 66`() async throws {
            let wrong = try folder.write("[1]", to: "state")
            for options in [
                ["--token-file", folder.file("none")], ["--header-file", folder.path], ["--state", wrong],
            ] {
                let tail = try TailProcess(options + [url, room])
                #expect(try await tail.child.wait() == .status(66), "\(options)")
                #expect(tail.child.output.hasPrefix("roomtail: \(options[1]): "))
            }
        }

        @Test func `help, man page and version`() async throws {
            let help = try TailProcess(["--help"])
            #expect(try await help.child.wait() == .status(0))
            let page = try String(contentsOfFile: Programs.root + "/docs/man/roomtail.1", encoding: .utf8)
                .replacingOccurrences(of: "\\-", with: "-")
            let wrong = try TailProcess(["--none", "x", "y"])
            #expect(try await wrong.child.wait() == .status(64))
            let options = wrong.child.output.matches(of: /--[a-z-]+/).map { String($0.0) }.filter { $0 != "--none" }
            #expect(options.count > 10)
            for option in options { #expect(help.child.output.contains(option) && page.contains(option), "\(option)") }
            let version = try TailProcess(["--version"])
            #expect(try await version.child.wait() == .status(0))
            let hub = try ChildProcess(Programs.hub, ["--version"])
            _ = try await hub.wait()
            #expect(version.child.output == hub.output.replacingOccurrences(of: "roomhub", with: "roomtail"))
        }
    }
}
