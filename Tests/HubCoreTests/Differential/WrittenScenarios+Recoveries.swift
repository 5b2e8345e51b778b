extension WrittenScenarios {
    // MARK: recoveries and history

    static let recoveries: [(String, Writer)] = [
        (
            "three hundred missed, and one more",
            { script in
                script.publish(1...1, to: "order:l")
                script.call("history", #"{"channel":"order:l"}"#)
                let commands = (2...301).map { #"{"publish":{"channel":"order:l","data":{"n":\#($0)}}}"# }
                script.add(
                    .call(
                        Scenario.Call(
                            line: "POST /api/batch",
                            body: Array(#"{"commands":[\#(commands.joined(separator: ","))]}"#.utf8)
                        )
                    )
                )
                script.connect("a", as: "ann")
                for offset in [1, 0, 300, 301, 302] {
                    script.join("a", "order:l", #""recover":true,"epoch":"$epoch(1)","offset":\#(offset)"#)
                    script.leave("a", "order:l")
                }
                script.join("a", "order:l")
                for limit in ["1000", "-1", "300", "301", "2147483647", "-2147483648"] {
                    script.say("a", "history", #"{"channel":"order:l","limit":\#(limit)}"#)
                }
                script.say(
                    "a",
                    "history",
                    #"{"channel":"order:l","limit":300,"since":{"offset":0,"epoch":"$epoch(1)"}}"#
                )
            }
        ),
        (
            "positions of a trimmed room",
            { script in
                script.connect("a", as: "ann")
                script.join("a", "small:t")
                script.publish(1...14, to: "small:t")
                script.leave("a", "small:t")
                for (epoch, offset) in [
                    ("$epoch(1)", "3"), ("$epoch(1)", "4"), ("$epoch(1)", "5"), ("$epoch(1)", "14"),
                    ("$epoch(1)", "15"), ("$epoch(1)", "16"),
                    ("other", "13"), ("", "13"), ("", "2"), ("", "0"), ("$epoch(1)", "9223372036854775806"),
                ] {
                    script.join("a", "small:t", #""recover":true,"epoch":"\#(epoch)","offset":\#(offset)"#)
                    script.say(
                        "a",
                        "history",
                        #"{"channel":"small:t","limit":4,"since":{"epoch":"\#(epoch)","offset":\#(offset)}}"#
                    )
                    script.say(
                        "a",
                        "history",
                        #"{"channel":"small:t","limit":4,"reverse":true,"since":{"epoch":"\#(epoch)","offset":\#(offset)}}"#
                    )
                    script.leave("a", "small:t")
                }
            }
        ),
        (
            "subscriptions that insist on recovery",
            { script in
                script.connect("a", as: "ann")
                script.publish("small:i", "1")
                script.publish(2...14, to: "small:i")
                for position in [
                    #""epoch":"$epoch(1)","offset":2"#, #""epoch":"other","offset":14"#,
                    #""epoch":"$epoch(1)","offset":20"#,
                    #""offset":1"#,
                ] {
                    for flag in [2, 3] {
                        script.say(
                            "a",
                            "subscribe",
                            #"{"channel":"small:i","recover":true,"flag":\#(flag),\#(position)}"#
                        )
                    }
                }
                script.say("a", "presence", #"{"channel":"small:i"}"#)
                script.join("a", "small:i", #""recover":true,"flag":2,"epoch":"$epoch(1)","offset":12"#)
                script.leave("a", "small:i")
                script.join("a", "small:i", #""flag":2"#)
                script.leave("a", "small:i")
                script.join("a", "live:i", #""recover":true,"flag":2,"epoch":"x","offset":12"#)
            }
        ),
        (
            "a room emptied through the API",
            { script in
                script.connect("a", as: "ann")
                script.join("a", "order:e")
                script.publish(1...5, to: "order:e")
                script.call("history_remove", #"{"channel":"order:e"}"#)
                script.call("history", #"{"channel":"order:e","limit":10}"#)
                script.say("a", "history", #"{"channel":"order:e","limit":10}"#)
                script.publish("order:e", "6")
                script.leave("a", "order:e")
                for offset in [3, 5, 6, 7] {
                    script.join("a", "order:e", #""recover":true,"epoch":"$epoch(1)","offset":\#(offset)"#)
                    script.leave("a", "order:e")
                }
                script.call("history_remove", #"{"channel":"order:never"}"#)
                script.call("history", #"{"channel":"order:never","limit":1}"#)
            }
        ),
        (
            "only the latest, in cache mode",
            { script in
                script.connect("a", as: "ann")
                script.join("a", "cache:c", #""recover":true"#)
                script.leave("a", "cache:c")
                script.publish(1...3, to: "cache:c")
                for position in [
                    #""epoch":"$epoch(1)","offset":1"#, #""epoch":"$epoch(1)","offset":3"#,
                    #""epoch":"other","offset":1"#,
                    #""offset":0"#, #""epoch":"$epoch(1)","offset":9"#,
                ] {
                    script.join("a", "cache:c", #""recover":true,\#(position)"#)
                    script.leave("a", "cache:c")
                }
                script.join("a", "cache:c")
            }
        ),
        (
            "what a client asks of a room, and gets",
            { script in
                script.connect("a", as: "ann")
                for room in ["ask", "order", "small", "position", "nohistory", "live"] {
                    for asked in [
                        #""positioned":true"#, #""recoverable":true"#, #""positioned":true,"recoverable":true"#,
                        #""recover":true,"recoverable":true"#, #""recover":true"#, #""flag":1"#,
                    ] {
                        script.join("a", "\(room):k", asked)
                        script.leave("a", "\(room):k")
                    }
                    script.publish(1...2, to: "\(room):k")
                    for asked in [#""recover":true"#, #""recover":true,"recoverable":true,"offset":1"#] {
                        script.join("a", "\(room):k", asked)
                        script.leave("a", "\(room):k")
                    }
                }
            }
        ),
        (
            "reconnecting again and again",
            { script in
                script.publish("order:r", "0")
                for round in 1...6 {
                    script.connect("a", as: "ann")
                    let missed = (round - 1) * 3 + (round > 1 ? 1 : 0)
                    script.join("a", "order:r", #""recover":true,"epoch":"$epoch(1)","offset":\#(missed)"#)
                    script.publish(1...3, to: "order:r")
                    script.close("a")
                }
                script.connect("b", as: "bob")
                script.join("b", "order:r", #""recover":true,"epoch":"$epoch(1)","offset":0"#)
                script.say("b", "history", #"{"channel":"order:r","limit":5,"reverse":true}"#)
            }
        ),
        (
            "history that is over after two seconds",
            { script in
                script.connect("a", as: "ann")
                script.join("a", "short:h")
                script.publish(1...3, to: "short:h")
                script.say("a", "history", #"{"channel":"short:h","limit":5}"#)
                script.add(.pause(.milliseconds(3_300)))
                script.say("a", "history", #"{"channel":"short:h","limit":5}"#)
                script.publish("short:h", "4")
                script.say("a", "history", #"{"channel":"short:h","limit":5}"#)
                script.leave("a", "short:h")
                for offset in [2, 3, 4] {
                    script.join("a", "short:h", #""recover":true,"epoch":"$epoch(1)","offset":\#(offset)"#)
                    script.leave("a", "short:h")
                }
            }
        ),
    ]
}
