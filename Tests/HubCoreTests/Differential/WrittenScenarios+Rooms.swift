extension WrittenScenarios {
    // MARK: rooms

    static let rooms: [(String, Writer)] = [
        (
            "names of rooms",
            { script in
                script.connect("a", as: "ann")
                for room in ["live:", "live:a:b", "live:a b", "live:*", "live:/", "x y", "order", "live:#", "live:&"] {
                    script.say("a", "subscribe", #"{"channel":"\#(room)"}"#)
                }
                for count in [254, 255, 256] {
                    script.say("a", "subscribe", #"{"channel":"live:\#(String(repeating: "n", count: count - 5))"}"#)
                }
                script.say("a", "subscribe", #"{"channel":"live:\u00fc"}"#)
                script.say("a", "subscribe", #"{"channel":"closed:1"}"#)
                script.say("a", "subscribe", #"{"channel":"$order:1"}"#)
                script.say("a", "subscribe", #"{"channel":"$live:1"}"#)
                script.say("a", "subscribe", #"{"channel":"$"}"#)
            }
        ),
        (
            "more rooms than a connection may have",
            { script in
                script.connect("a", as: "ann")
                let commands = (2...128).map { #"{"id":\#($0),"subscribe":{"channel":"live:\#($0)"}}"# }
                script.add(.say(on: "a", commands.joined(separator: "\n")))
                script.add(.hear(on: "a", 127))
                for number in 200...203 { script.say("a", "subscribe", #"{"channel":"live:\#(number)"}"#) }
                script.leave("a", "live:5")
                script.say("a", "subscribe", #"{"channel":"live:300"}"#)
                script.say("a", "subscribe", #"{"channel":"live:301"}"#)
            }
        ),
        (
            "a crowd, and who asks to hear of it",
            { script in
                script.connect("a", as: "ann", #""info":{"n":1}"#)
                script.connect("b", as: "bob")
                script.connect("c", as: nil)
                script.join("a", "ask:c", #""join_leave":true"#)
                script.join("b", "ask:c")
                script.join("c", "ask:c", #""join_leave":true"#)
                script.say("b", "presence", #"{"channel":"ask:c"}"#)
                script.say("c", "presence_stats", #"{"channel":"ask:c"}"#)
                script.leave("b", "ask:c")
                script.leave("c", "ask:c")
                script.join("c", "ask:c")
                script.close("c")
                script.say("a", "presence", #"{"channel":"ask:c"}"#)
                script.join("b", "live:c", #""join_leave":true"#)
                script.join("b", "small:c", #""join_leave":true"#)
            }
        ),
        (
            "two connections of one user in a room",
            { script in
                script.connect("a", as: "ann")
                script.connect("b", as: "ann")
                script.connect("c", as: "cid")
                for name in ["a", "b", "c"] { script.join(name, "order:u") }
                script.say("a", "presence_stats", #"{"channel":"order:u"}"#)
                script.say("a", "presence", #"{"channel":"order:u"}"#)
                script.call("presence", #"{"channel":"order:u"}"#)
                script.call("presence_stats", #"{"channel":"order:u"}"#)
                script.call("channels", "{}")
                script.leave("a", "order:u")
                script.say("b", "presence_stats", #"{"channel":"order:u"}"#)
                script.say("a", "presence_stats", #"{"channel":"order:u"}"#)
                script.close("c")
                script.call("presence_stats", #"{"channel":"order:u"}"#)
            }
        ),
        (
            "publications of clients",
            { script in
                script.connect("a", as: "ann", #""info":{"n":"Ann"}"#)
                script.connect("b", as: nil)
                script.join("a", "order:p")
                script.join("b", "order:p")
                for data in ["1", "null", #"{"a":1.10}"#, #""text""#, "[]", #"{"b":{"c":[1,2,{}]}}"#, "true"] {
                    script.say("a", "publish", #"{"channel":"order:p","data":\#(data)}"#)
                }
                script.say("b", "publish", #"{"channel":"order:p","data":{"from":"b"}}"#)
                script.say("b", "publish", #"{"channel":"order:p"}"#)
                script.say("a", "history", #"{"channel":"order:p","limit":20}"#)
                script.call("history", #"{"channel":"order:p","limit":20}"#)
                script.leave("a", "order:p")
                script.say("a", "publish", #"{"channel":"order:p","data":2}"#)
                script.join("a", "live:p")
                script.say("a", "publish", #"{"channel":"live:p","data":2}"#)
            }
        ),
        (
            "private rooms",
            { script in
                script.connect("a", as: "ann")
                func token(_ claims: String) -> String { Template.token(#"{"sub":"ann",\#(claims)}"#) }
                script.join("a", "$order:1", #""token":"\#(token(#""channel":"$order:1""#))""#)
                script.join("a", "$order:2", #""token":"\#(token(#""channel":"$order:2","exp":"@600""#))""#)
                script.join(
                    "a",
                    "$order:3",
                    #""token":"\#(token(#""channel":"$order:3","info":{"i":1},"data":{"d":[1]},"exp":"@600""#))""#
                )
                script.join(
                    "a",
                    "$order:4",
                    #""token":"\#(token(#""channel":"$order:4","exp":"@600","expire_at":"@900""#))""#
                )
                script.publish("$order:1", "1")
                script.say("a", "history", #"{"channel":"$order:1","limit":3}"#)
                script.say("a", "presence", #"{"channel":"$order:3"}"#)
                let refreshed = token(#""channel":"$order:2","exp":"@700""#)
                script.say("a", "sub_refresh", #"{"channel":"$order:2","token":"\#(refreshed)"}"#)
                let endless = token(#""channel":"$order:2""#)
                script.say("a", "sub_refresh", #"{"channel":"$order:2","token":"\#(endless)"}"#)
                script.say("a", "sub_refresh", #"{"channel":"$order:2","token":""}"#)
                script.say("a", "sub_refresh", #"{"channel":"$order:1","token":"\#(token(#""channel":"$order:1""#))"}"#)
                script.say("a", "subscribe", #"{"channel":"$order:5","token":"abc"}"#)
                let old = token(#""channel":"$order:5","exp":"@-9""#)
                script.say("a", "subscribe", #"{"channel":"$order:5","token":"\#(old)"}"#)
                let early = token(#""channel":"$order:5","nbf":"@90""#)
                script.say("a", "subscribe", #"{"channel":"$order:5","token":"\#(early)"}"#)
                let bad = Template.badToken(#"{"sub":"ann","channel":"$order:5"}"#)
                script.say("a", "subscribe", #"{"channel":"$order:5","token":"\#(bad)"}"#)
                script.sayLast(
                    "a",
                    "subscribe",
                    #"{"channel":"$order:5","token":"\#(token(#""channel":"$order:6""#))"}"#
                )
                script.connect("b", as: "bob")
                script.sayLast(
                    "b",
                    "subscribe",
                    #"{"channel":"$order:5","token":"\#(token(#""channel":"$order:5""#))"}"#
                )
                script.connect("c", as: nil)
                let nobody = Template.token(#"{"channel":"$order:7"}"#)
                script.join("c", "$order:7", #""token":"\#(nobody)""#)
                script.join("c", "closed:7", #""token":"\#(Template.token(#"{"channel":"closed:7"}"#))""#)
            }
        ),
        (
            "connections refreshed",
            { script in
                func token(_ claims: String) -> String { Template.token(#"{"sub":"ann"\#(claims)}"#) }
                script.connect("a", as: "ann", #""exp":"@600""#)
                script.say("a", "refresh", #"{"token":"\#(token(#","exp":"@900""#))"}"#)
                script.say("a", "refresh", #"{"token":"\#(token(""))"}"#)
                script.say("a", "refresh", #"{"token":"\#(token(#","exp":"@100""#))"}"#)
                script.sayLast("a", "refresh", #"{"token":"\#(token(#","exp":"@-9""#))"}"#)
                script.connect("b", as: "ann", #""exp":"@600""#)
                script.sayLast("b", "refresh", #"{"token":"\#(Template.token(#"{"sub":"bob","exp":"@900"}"#))"}"#)
                script.connect("c", as: "ann", #""exp":"@600""#)
                script.sayLast("c", "refresh", #"{"token":"\#(Template.badToken(#"{"sub":"ann","exp":"@900"}"#))"}"#)
                script.connect("d", as: nil)
                script.sayLast("d", "refresh", #"{"token":"\#(token(#","exp":"@900""#))"}"#)
                script.connect("e", as: "ann", #""exp":"@600""#)
                script.sayLast("e", "refresh", #"{"token":""}"#)
                script.connect("f", as: "ann")
                script.say("f", "refresh", #"{"token":"\#(token(#","exp":"@300""#))"}"#)
            }
        ),
        (
            "a flood in frames of at most sixteen",
            { script in
                script.connect("a", as: "ann")
                script.join("a", "order:f")
                let commands = (1...200).map { #"{"publish":{"channel":"order:f","data":{"n":\#($0)}}}"# }
                script.call("batch", #"{"commands":[\#(commands.joined(separator: ","))]}"#)
                script.say(
                    "a",
                    "history",
                    #"{"channel":"order:f","limit":300,"since":{"offset":150,"epoch":"$epoch(1)"}}"#
                )
            }
        ),
    ]
}
