extension WrittenScenarios {
    // MARK: the server API

    static let calls: [(String, Writer)] = [
        (
            "publications with everything that goes with them",
            { script in
                script.connect("a", as: "ann")
                script.join("a", "order:p")
                script.join("a", "live:p")
                script.publish("order:p", "1", #""tags":{"k":"v"}"#)
                script.publish("order:p", "2", #""skip_history":true"#)
                script.publish("order:p", "3", #""idempotency_key":"i""#)
                script.publish("order:p", "4", #""idempotency_key":"i""#)
                script.publish("live:p", "5", #""idempotency_key":"i""#)
                script.publish("live:p", "6", #""idempotency_key":"i""#)
                script.publish("order:q", "7", #""idempotency_key":"i""#)
                script.publish("order:p", #"{"a":[1, 2 ,3]}"#, #""unknown":true"#)
                script.publish("live:p", "8", #""tags":{"x":"y"}"#)
                script.publish("order:p", "null")
                script.publish("order:p", #""""#)
                script.call("publish", #"{"channel":"order:p","b64data":"eyJiIjo2NH0="}"#)
                script.call("publish", #"{"channel":"order:p","data":9,"b64data":"MTA="}"#)
                script.call("history", #"{"channel":"order:p","limit":20}"#)
                script.say("a", "history", #"{"channel":"order:p","limit":20}"#)
            }
        ),
        (
            "requests the API refuses",
            { script in
                for (method, body) in [
                    ("publish", "{}"), ("publish", #"{"channel":"order:1"}"#), ("publish", #"{"data":1}"#),
                    ("publish", #"{"channel":"","data":1}"#), ("publish", #"{"channel":"nosuch:1","data":1}"#),
                    ("publish", #"{"channel":"order:1","data":""#), ("publish", #"{"channel":7,"data":1}"#),
                    ("publish", #"{"channel":"order:1","b64data":"*"}"#), ("publish", "[]"), ("publish", "null"),
                    ("publish", ""), ("broadcast", "{}"), ("broadcast", #"{"channels":[],"data":1}"#),
                    ("broadcast", #"{"channels":["live:1"]}"#), ("broadcast", #"{"channels":[""],"data":1}"#),
                    ("broadcast", #"{"channels":["nosuch:1"],"data":1}"#),
                    ("history", "{}"), ("history", #"{"channel":"nosuch:1"}"#),
                    ("history", #"{"channel":"live:1","limit":1}"#),
                    ("history", #"{"channel":"order:1","limit":1,"reverse":true,"since":{"offset":0,"epoch":""}}"#),
                    ("history_remove", "{}"), ("history_remove", #"{"channel":"nosuch:1"}"#),
                    ("presence", "{}"), ("presence", #"{"channel":"nosuch:1"}"#),
                    ("presence", #"{"channel":"small:1"}"#),
                    ("presence_stats", "{}"), ("presence_stats", #"{"channel":"nosuch:1"}"#),
                    ("presence_stats", #"{"channel":"live:1"}"#),
                    ("subscribe", "{}"), ("subscribe", #"{"user":"x"}"#), ("subscribe", #"{"channel":"live:1"}"#),
                    ("subscribe", #"{"user":"x","channel":"nosuch:1"}"#),
                    ("subscribe", #"{"user":"x","channel":"live:1"}"#),
                    ("unsubscribe", "{}"), ("unsubscribe", #"{"user":"x"}"#), ("unsubscribe", #"{"channel":"live:1"}"#),
                    ("unsubscribe", #"{"user":"x","channel":"nosuch:1"}"#), ("disconnect", "{}"),
                    ("disconnect", #"{"user":"nobody"}"#), ("refresh", "{}"), ("refresh", #"{"user":"nobody"}"#),
                    ("publish", #"{"channel":"order:1","data":1,"tags":{"a":1}}"#),
                    ("publish", #"{"channel":"live:1","data":1}x"#),
                    ("publish", #"{"channel":"live:1","data":1,"channel":"nosuch:1"}"#),
                    ("publish", #"{"channel":"live:1","data":1,"skip_history":"yes"}"#), ("history", "null"),
                    ("broadcast", #"{"channels":["live:1",7],"data":1}"#), ("channels", #"{"pattern":7}"#),
                    ("batch", "null"), ("info", "null"), ("batch", "{}"), ("batch", #"{"commands":[]}"#),
                    ("batch", #"{"commands":[{}]}"#), ("rpc", "{}"),
                ] { script.call(method, body) }
            }
        ),
        (
            "broadcasts",
            { script in
                script.connect("a", as: "ann")
                script.connect("b", as: "bob")
                for room in ["order:1", "order:2", "live:3"] { script.join("a", room) }
                script.join("b", "order:2")
                script.publish("order:1", "0")
                script.publish("order:2", "0")
                script.call("broadcast", #"{"channels":["order:1","order:2","live:3","nosuch:1",""],"data":{"n":1}}"#)
                script.call(
                    "broadcast",
                    #"{"channels":["order:1","order:2"],"data":{"n":2},"tags":{"t":"u"},"skip_history":true}"#
                )
                script.call("broadcast", #"{"channels":["order:1","order:2"],"data":3,"idempotency_key":"k"}"#)
                script.call("broadcast", #"{"channels":["order:2","order:1"],"data":4,"idempotency_key":"k"}"#)
                script.call("broadcast", #"{"channels":["order:1"],"b64data":"NQ=="}"#)
                script.call("history", #"{"channel":"order:1","limit":10}"#)
                script.call("history", #"{"channel":"order:2","limit":10}"#)
            }
        ),
        (
            "batches",
            { script in
                script.connect("a", as: "ann")
                script.join("a", "order:b")
                script.call(
                    "batch",
                    #"{"commands":[{"publish":{"channel":"order:b","data":1}},{"publish":{"channel":"order:b"}},"#
                        + #"{"history":{"channel":"order:b","limit":1}},{"presence_stats":{"channel":"order:b"}},"#
                        + #"{"presence":{"channel":"order:b"}},{"broadcast":{"channels":["order:b","nosuch:1"],"data":2}},"#
                        + #"{"channels":{"pattern":"order:*"}},{"history_remove":{"channel":"order:b"}},"#
                        + #"{"history":{"channel":"order:b","limit":5}},{"publish":{"channel":"nosuch:b","data":1}}]}"#
                )
                script.call("batch", #"{"commands":[{"publish":{"channel":"order:b","data":3}}],"parallel":true}"#)
                script.call(
                    "batch",
                    #"{"commands":[{"unsubscribe":{"user":"ann","channel":"order:b"}}]}"#,
                    unsubscribes: ["a"],
                    from: "order:b"
                )
                script.call("batch", #"{"commands":[{"disconnect":{"user":"ann"}}]}"#, ends: ["a"])
            }
        ),
        (
            "connections ended through the API",
            { script in
                for name in ["a", "b", "c", "d"] { script.connect(name, as: "ann") }
                script.connect("e", as: "eve")
                for name in ["a", "b", "e"] { script.join(name, "order:d") }
                script.call("disconnect", #"{"user":"ann","client":"$client(a)"}"#, ends: ["a"])
                script.call("disconnect", #"{"user":"eve","client":"$client(b)"}"#)
                script.call(
                    "disconnect",
                    #"{"user":"ann","whitelist":["$client(c)"],"disconnect":{"code":4100,"reason":"away"}}"#,
                    ends: ["b", "d"]
                )
                script.call("disconnect", #"{"user":"nobody"}"#)
                script.call("disconnect", #"{"user":"ann","disconnect":{"code":3999,"reason":""}}"#, ends: ["c"])
                script.call("disconnect", #"{"user":"eve","disconnect":{"code":4999,"reason":"ü"}}"#, ends: ["e"])
            }
        ),
        (
            "subscriptions ended through the API",
            { script in
                script.connect("a", as: "ann")
                script.connect("b", as: "ann")
                script.connect("c", as: "cid")
                for name in ["a", "b", "c"] { script.join(name, "order:u") }
                script.join("a", "live:u")
                script.call(
                    "unsubscribe",
                    #"{"user":"ann","channel":"order:u","client":"$client(a)"}"#,
                    unsubscribes: ["a"],
                    from: "order:u"
                )
                script.join("a", "order:u")
                script.leave("b", "order:u")
                script.call(
                    "unsubscribe",
                    #"{"user":"ann","channel":"order:u"}"#,
                    unsubscribes: ["a", "b"],
                    from: "order:u"
                )
                script.call(
                    "unsubscribe",
                    #"{"user":"cid","channel":"order:u","unsubscribe":{"code":2600,"reason":"mine"}}"#,
                    unsubscribes: ["c"],
                    from: "order:u"
                )
                script.join("c", "order:u")
                script.call(
                    "unsubscribe",
                    #"{"user":"ann","channel":"live:u"}"#,
                    unsubscribes: ["a", "b"],
                    from: "live:u"
                )
                script.publish("live:u", "1")
                script.publish("order:u", "2")
            }
        ),
        (
            "subscriptions made through the API",
            { script in
                script.connect("a", as: "ann")
                script.connect("b", as: "ann")
                script.call(
                    "subscribe",
                    #"{"user":"ann","channel":"order:s","client":"$client(a)"}"#,
                    subscribes: ["a"],
                    to: "order:s"
                )
                script.publish("order:s", "1")
                script.call(
                    "subscribe",
                    #"{"user":"ann","channel":"live:s","data":{"d":1},"info":{"i":2}}"#,
                    subscribes: ["a", "b"],
                    to: "live:s"
                )
                script.publish("live:s", "2")
                script.say("a", "subscribe", #"{"channel":"live:s"}"#)
                script.leave("a", "live:s")
                script.publish("live:s", "3")
                script.call(
                    "subscribe",
                    #"{"user":"ann","channel":"order:s","client":"$client(b)","recover_since":{"offset":0,"epoch":"$epoch(1)"}}"#,
                    subscribes: ["b"],
                    to: "order:s"
                )
                script.say("b", "presence", #"{"channel":"order:s"}"#)
            }
        ),
        (
            "expiry moved through the API",
            { script in
                script.connect("a", as: "ann", #""exp":"@600""#)
                script.connect("b", as: "ann")
                script.add(
                    .call(
                        Scenario.Call(
                            line: "POST /api/refresh",
                            body: Array(#"{"user":"ann","client":"$client(a)","expire_at":"@900"}"#.utf8)
                        )
                    )
                )
                script.add(.await(on: "a", .refresh, total: 1))
                script.call("refresh", #"{"user":"ann","client":"$client(a)","expired":true}"#, ends: ["a"])
                script.call("refresh", #"{"user":"ann","expire_at":"@-5"}"#, ends: ["b"])
            }
        ),
        (
            "lists of rooms",
            { script in
                script.connect("a", as: "ann")
                script.connect("b", as: "bob")
                for room in ["order:1", "order:12", "live:a", "shop"] { script.join("a", room) }
                script.join("b", "order:1")
                for pattern in ["", "*", "order:*", "order:?", "order:1*", "shop", "no*", "*a", "*r*:*"] {
                    script.call("channels", #"{"pattern":"\#(pattern)"}"#)
                }
                script.leave("a", "order:12")
                script.call("channels", "{}")
            }
        ),
    ]
}
