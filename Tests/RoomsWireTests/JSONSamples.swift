/// The messages of `Samples` in the JSON form, in the same order, and what real servers make of odd texts.
enum JSONSamples {
    static let info = #"{"user":"u","client":"c","conn_info":{"a":1},"chan_info":7}"#

    static let publication =
        ##"{"data":{},"info":\##(info),"offset":7,"tags":{"k":"","":"v"},"delta":true,"time":-1,"##
        + #""channel":"w","epoch":"e"}"#

    static let connectResult =
        #"{"client":"c","version":"v","expires":true,"ttl":60,"data":1,"#
        + #""subs":{"a":{},"b":{"recoverable":true}},"ping":25,"pong":true,"session":"s","node":"n","#
        + #""time":1700000000000,"flag":1}"#

    static let replies: [String] = [
        "{}",
        #"{"id":1,"error":{"code":4294967295,"message":"limit","temporary":true}}"#,
        ##"{"push":{"channel":"room","pub":\##(publication)}}"##,
        ##"{"push":{"channel":"room","join":{"info":\##(info)}}}"##,
        ##"{"push":{"channel":"room","leave":{"info":\##(info)}}}"##,
        #"{"push":{"channel":"room","unsubscribe":{"code":2500,"reason":"why"}}}"#,
        #"{"push":{"message":{"data":{}}}}"#,
        #"{"push":{"channel":"room","subscribe":{"recoverable":true,"epoch":"e","offset":9,"positioned":true,"data":1}}}"#,
        ##"{"push":{"connect":\##(connectResult)}}"##,
        #"{"push":{"disconnect":{"code":3001,"reason":"why","reconnect":true}}}"#,
        #"{"push":{"refresh":{"expires":true,"ttl":60}}}"#,
        #"{"push":{"id":5,"pub":{"data":1}}}"#,
        ##"{"id":1,"connect":\##(connectResult)}"##,
        ##"{"id":4294967295,"subscribe":{"expires":true,"ttl":60,"recoverable":true,"epoch":"e","##
            + ##""publications":[\##(publication),{}],"recovered":true,"offset":18446744073709551615,"##
            + #""positioned":true,"data":1,"was_recovering":true,"delta":true,"id":-2,"type":-3}}"#,
        #"{"id":3,"unsubscribe":{}}"#,
        #"{"id":3,"publish":{}}"#,
        ##"{"id":3,"presence":{"presence":{"c1":\##(info),"c2":{"user":"","client":""}}}}"##,
        #"{"id":3,"presence_stats":{"num_clients":5,"num_users":300}}"#,
        ##"{"id":3,"history":{"publications":[\##(publication)],"epoch":"e","offset":7}}"##,
        #"{"id":3,"rpc":{"data":{}}}"#,
        #"{"id":3,"refresh":{"client":"c","version":"v","expires":true,"ttl":60}}"#,
        #"{"id":3,"sub_refresh":{"expires":true,"ttl":60}}"#,
    ]

    static let commands: [String] = [
        "{}",
        #"{"id":1,"connect":{"token":"t","data":{},"subs":{"a":{"recover":true,"epoch":"e","offset":3},"b":{}},"#
            + #""name":"n","version":"v","headers":{"h":"x"}}}"#,
        #"{"id":2,"subscribe":{"channel":"a","token":"t","recover":true,"epoch":"e","offset":300,"data":1,"#
            + #""positioned":true,"recoverable":true,"join_leave":true,"flag":-1}}"#,
        #"{"id":3,"unsubscribe":{"channel":"a"}}"#,
        #"{"id":3,"publish":{"channel":"a","data":12}}"#,
        #"{"id":3,"presence":{"channel":"a"}}"#,
        #"{"id":3,"presence_stats":{"channel":"a"}}"#,
        #"{"id":3,"history":{"channel":"a","limit":-1,"since":{"offset":5,"epoch":"e"},"reverse":true}}"#,
        #"{"id":3,"history":{"channel":"a","since":{}}}"#,
        #"{"id":3,"ping":{}}"#,
        #"{"send":{"data":{}}}"#,
        #"{"id":3,"rpc":{"data":{},"method":"m"}}"#,
        #"{"id":3,"refresh":{"token":"t"}}"#,
        #"{"id":3,"sub_refresh":{"channel":"a","token":"t"}}"#,
    ]

    /// In the order of the recording.
    static let recordedMistakes: [String] = [
        #"{"id":18,"history":{"channel":"order:h","limit":"2"}}"#,
        "",
        "hello",
        "[1]",
        "{\"id\":1,\"connect\":{}}\n\n{\"id\":2,\"subscribe\":{\"channel\":\"shop\"}}",
        "{\"id\":2,\n\"subscribe\":{\"channel\":\"shop\"}}",
        #"{"id":-1,"connect":{}}"#,
        #"{"id":4294967296,"connect":{}}"#,
        #"{"id":"1","connect":{}}"#,
    ]
}
