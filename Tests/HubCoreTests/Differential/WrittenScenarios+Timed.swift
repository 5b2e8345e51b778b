extension WrittenScenarios {
    // MARK: what ends by itself, and what does not any more

    static let timed: [(String, Writer)] = [
        (
            "a subscription refreshed for good",
            { script in
                script.connect("a", as: "ann")
                func token(_ claims: String) -> String {
                    Template.token(#"{"sub":"ann","channel":"$order:1"\#(claims)}"#)
                }
                script.join("a", "$order:1", #""token":"\#(token(#","exp":"@1""#))""#)
                script.say("a", "sub_refresh", #"{"channel":"$order:1","token":"\#(token(""))"}"#)
                script.add(.pause(.milliseconds(4_500)))
                script.publish("$order:1", "1")
            }
        )
    ]
}
