/// Scenarios for what the transcripts miss, each in both formats.
enum WrittenScenarios {
    typealias Writer = @Sendable (inout Script) -> Void

    static var all: [Scenario] {
        scenarios(connections + rooms + recoveries + calls, .main) + scenarios(timed, .fast)
    }

    private static func scenarios(_ written: [(String, Writer)], _ setup: Scenario.Setup) -> [Scenario] {
        written.flatMap { name, write in
            Script.Format.allCases.map { format in
                var script = Script(name, format, setup: setup)
                write(&script)
                return script.scenario
            }
        }
    }

    // MARK: connections

    static let connections: [(String, Writer)] = [
        (
            "connect with everything a client may tell",
            { script in
                script.connect("a", #""name":"n","version":"1","data":{"x":1},"headers":{"h":"v"}"#)
                script.say("a", "subscribe", #"{"channel":"live:1","data":{"y":2}}"#)
                script.close("a")
            }
        ),
        (
            "formats asked for in the query",
            { script in
                script.add(
                    .open(Scenario.Connection(name: "b", path: "/connection/websocket?format=protobuf", protocols: []))
                )
                script.add(.bytes(on: "b", [4, 8, 1, 0x22, 0]))
                script.add(.hear(on: "b", 1))
                script.add(
                    .open(
                        Scenario.Connection(
                            name: "c",
                            path: "/connection/websocket?cf_protocol=protobuf",
                            protocols: []
                        )
                    )
                )
                script.add(.bytes(on: "c", [4, 8, 1, 0x22, 0]))
                script.add(.hear(on: "c", 1))
            }
        ),
        (
            "many commands in one frame",
            { script in
                script.open("a")
                let commands = (2...20).map { #"{"id":\#($0),"subscribe":{"channel":"live:\#($0)"}}"# }
                script.add(.say(on: "a", ([#"{"id":1,"connect":{}}"#] + commands).joined(separator: "\n")))
                script.add(.hear(on: "a", 20))
                script.add(
                    .say(
                        on: "a",
                        #"{"id":30,"subscribe":{"channel":"live:x"}}\#n{"id":31,"unsubscribe":{"channel":"live:x"}}"#
                            + "\n" + #"{"id":32,"subscribe":{"channel":"live:x"}}"#
                    )
                )
                script.add(.hear(on: "a", 3))
                script.publish("live:x", "1")
                // What came before the mistake is done.
                script.add(.say(on: "a", #"{"id":40,"subscribe":{"channel":"live:y"}}\#n{"id":41,"ping":{}}"#))
                script.ends("a")
            }
        ),
        (
            "tokens that are taken, and those that are not",
            { script in
                script.connect("a", as: "ann", #""exp":"@600","info":{"name":"Ann"},"meta":{"m":1},"iat":"@-5""#)
                script.join("a", "order:t")
                script.connect("b", as: "", #""exp":"@600""#)
                script.join("b", "order:t")
                script.connect("c", #""token":"\#(Template.token(#"{"exp":"@600"}"#))""#)
                script.say("c", "subscribe", #"{"channel":"live:t"}"#)
                for (name, token) in [
                    ("d", Template.token(#"{"sub":"x","exp":"soon"}"#)), ("e", Template.token(#"{"sub":7}"#)),
                    ("f", Template.token("7")), ("g", Template.badToken(#"{"sub":"x","exp":"@-9"}"#)),
                    ("h", "a.b.c"), ("i", ".."),
                ] {
                    script.connect(name, #""token":"\#(token)""#, hears: 0)
                    script.add(.end(of: name))
                }
                script.connect("j", #""token":"\#(Template.token(#"{"sub":"x","exp":"@-9"}"#))""#)
                script.connect("k", #""token":"\#(Template.token(#"{"sub":"x","b64info":"eyJiIjoyfQ=="}"#))""#)
                script.join("k", "order:t")
                script.connect("l", as: "x", #""expire_at":"@500""#)
                script.connect("m", as: "x", #""exp":"@600","expire_at":0"#)
            }
        ),
        (
            "rooms from the token",
            { script in
                script.connect(
                    "a",
                    as: "ann",
                    #""channels":["order:c","live:c"],"info":{"i":1}"#
                )
                script.joined("a", "order:c")
                script.publish("order:c", "1")
                script.publish("live:c", "2")
                script.say("a", "subscribe", #"{"channel":"live:c"}"#)
                script.say("a", "presence", #"{"channel":"order:c"}"#)
                script.leave("a", "order:c")
                script.join("a", "order:c")
                script.connect("b", as: "bob", #""subs":{"order:d":{"info":{"z":1},"data":{"d":1}}}"#)
                script.joined("b", "order:d")
                script.say("b", "history", #"{"channel":"order:d","limit":2}"#)
                script.connect(
                    "c",
                    as: "cid",
                    #""subs":{"live:o":{"override":{"presence":{"value":true},"join_leave":{"value":true},"# + #"""#
                        + #"force_push_join_leave":{"value":true},"force_recovery":{"value":true}}}}"#
                )
                script.add(.await(on: "c", .join, total: 1))
                script.say("c", "presence", #"{"channel":"live:o"}"#)
            }
        ),
        (
            "rooms from the token, recovered",
            { script in
                script.connect("a", as: "ann", #""channels":["order:s"]"#)
                script.joined("a", "order:s")
                script.publish(1...4, to: "order:s")
                script.close("a")
                script.publish(5...7, to: "order:s")
                let token = Template.token(#"{"sub":"ann","channels":["order:s"]}"#)
                for (name, position) in [
                    ("b", #""epoch":"$epoch(1)","offset":4"#), ("c", #""epoch":"$epoch(1)","offset":7"#),
                    ("d", #""epoch":"$epoch(1)","offset":9"#), ("e", #""epoch":"other","offset":4"#),
                    ("f", #""offset":2"#), ("g", ""),
                ] {
                    let more = position.isEmpty ? "" : ",\(position)"
                    script.connect(name, #""token":"\#(token)","subs":{"order:s":{"recover":true\#(more)}}"#)
                    script.joined(name, "order:s")
                    script.close(name)
                }
            }
        ),
        (
            "mistakes after which the server ends the connection",
            { script in
                for (index, last) in [
                    ("connect", "{}"), ("ping", "{}"), ("subscribe", "{}"), ("unsubscribe", "{}"), ("history", "{}"),
                    ("presence", "{}"), ("presence_stats", "{}"), ("publish", #"{"data":1}"#), ("sub_refresh", "{}"),
                    ("refresh", "{}"), ("refresh", #"{"token":"abc"}"#), ("sub_refresh", #"{"token":"abc"}"#),
                ].enumerated() {
                    script.connect("a\(index)", as: "ann")
                    script.sayLast("a\(index)", last.0, last.1)
                }
                script.connect("s", as: "ann")
                script.add(.say(on: "s", #"{"send":{"data":1}}"#))
                script.ends("s")
                script.connect("i", as: "ann")
                script.add(.say(on: "i", #"{"subscribe":{"channel":"live:1"}}"#))
                script.ends("i")
            }
        ),
        (
            "refusals",
            { script in
                script.connect("a", as: "ann")
                script.say("a", "rpc", #"{"method":"m","data":{}}"#)
                script.say("a", "rpc", "{}")
                script.say("a", "publish", #"{"channel":"live:1","data":1}"#)
                script.say("a", "publish", #"{"channel":"nosuch:1","data":1}"#)
                script.say("a", "publish", #"{"channel":"order:p","data":{"n":1}}"#)
                script.say("a", "history", #"{"channel":"order:h","limit":5}"#)
                script.say("a", "history", #"{"channel":"nohistory:h","limit":5}"#)
                script.say("a", "history", #"{"channel":"nosuch:h","limit":5}"#)
                script.say("a", "presence", #"{"channel":"order:h"}"#)
                script.say("a", "presence", #"{"channel":"small:h"}"#)
                script.say("a", "presence_stats", #"{"channel":"order:h"}"#)
                script.say("a", "presence_stats", #"{"channel":"nosuch:h"}"#)
                script.say("a", "unsubscribe", #"{"channel":"order:h"}"#)
                script.say("a", "unsubscribe", #"{"channel":"nosuch:h"}"#)
                script.say("a", "sub_refresh", #"{"channel":"live:1","token":"abc"}"#)
                script.join("a", "nohistory:h")
                script.say("a", "history", #"{"channel":"nohistory:h","limit":5}"#)
                script.join("a", "live:1")
                script.say("a", "history", #"{"channel":"live:1","limit":5}"#)
                script.say("a", "presence", #"{"channel":"live:1"}"#)
                script.say("a", "subscribe", #"{"channel":"live:1"}"#)
                script.sayLast("a", "sub_refresh", #"{"channel":"live:1","token":"abc"}"#)
            }
        ),
    ]
}
