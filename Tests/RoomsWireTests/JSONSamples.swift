import RoomsWire

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

    /// What a publisher sent, and what the real server made of it; nil where it closed the connection.
    static let payloads: [(String, String?)] = [
        ("{}", "{}"), (" {} ", " {} "), ("\n{\n}\n", "{}"), ("{\r\n}", "{\r}"), ("null", "null"), ("\n", "null"),
        ("1.10", "1.10"), ("-0", "-0"), ("1e400", "1e400"), ("1E+5", "1E+5"), (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#),
        // Line feeds are dropped first, wherever they stand; only then it is read.
        ("\"a\nb\"", #""ab""#), ("{\"\n\":1}", #"{"":1}"#), ("tr\nue", "true"), ("1\n2", "12"),
        (#""\ud800\/é<>&""#, #""\ud800\/é<>&""#), ("\"\u{7f}\u{2028}\"", "\"\u{7f}\u{2028}\""),
        (" ", nil), ("{}{}", nil), ("[1,", nil), ("tru", nil), ("01", nil), ("1.", nil), ("-", nil), ("1e", nil),
        ("-01", nil), ("NaN", nil), ("\"a\tb\"", nil), ("\"\u{1}\"", nil), (#""\q""#, nil), (#""\u12""#, nil),
        ("\u{feff}{}", nil), (#"{"a":1,}"#, nil), (#"{"a" 1}"#, nil), ("{'a':1}", nil), ("\u{0}", nil),
        ("{}\u{0}", nil), ("{}\u{b}", nil), ("\"\\\n\"", nil), ("1\r2", nil), ("\"x\"\n,", nil),
    ]

    /// Text of ours, and the real server's string.
    static let strings: [(String, String)] = [
        ("", ""), ("order:1 /*~", "order:1 /*~"), (#"""#, #"\""#), (#"\"#, #"\\"#), ("/", "/"),
        ("<>&", #"\u003c\u003e\u0026"#), ("\u{2027}\u{2028}\u{2029}\u{202a}", "\u{2027}\\u2028\\u2029\u{202a}"),
        ("\u{1}\u{8}\u{c}\n\r\t\u{1f}", #"\u0001\u0008\u000c\n\r\t\u001f"#),
        ("\u{7f}\u{80}\u{ad}é😀\u{fffd}", "\u{7f}\u{80}\u{ad}é😀\u{fffd}"),
    ]

    /// Frames of clients that the real server takes, and the commands that it takes them for, as we write them.
    static let lenient: [(String, [String])] = [
        // lines
        ("{}\n", ["{}"]), ("{}\n{}\n{}", ["{}", "{}", "{}"]), ("{}\r\n", ["{}"]), (" {\t} \n\t{}\r", ["{}", "{}"]),
        ("{}{\"id\":1}", ["{}"]), ("{} x", ["{}"]), ("{}\u{0}", ["{}"]), ("null", ["{}"]), (#"{"id":0}"#, ["{}"]),
        (#"{"yyy":1}"#, ["{}"]), (#"{"subscribe":null}"#, ["{}"]), (#"{"id":1}"#, [#"{"id":1}"#]),
        (#"{"id":2,"frobnicate":{}}"#, [#"{"id":2}"#]), (#"{"id":2,"rpc":null}"#, [#"{"id":2}"#]),
        // names
        (#"{"ID":1,"Connect":{"TOKEN":"t"}}"#, [#"{"id":1,"connect":{"token":"t"}}"#]),
        (#"{"id":1,"conn\u0065ct":{"n\u0061me":"\u0061"}}"#, [#"{"id":1,"connect":{"name":"a"}}"#]),
        (
            #"{"id":1,"connect":{"zzz":[{"a":"b"}],"a name that is long":1,"é":2},"yyy":[]}"#,
            [#"{"id":1,"connect":{}}"#]
        ),
        (#"{"connect":{"version":"v","name":"n"},"id":1}"#, [#"{"id":1,"connect":{"name":"n","version":"v"}}"#]),
        // of repeated names, the last one that is not null; of repeated requests both, unless null takes them away
        (#"{"id":1,"id":2,"id":null,"ping":{}}"#, [#"{"id":2,"ping":{}}"#]),
        (
            #"{"id":2,"subscribe":{"channel":"a"},"subscribe":{"token":"t"}}"#,
            [#"{"id":2,"subscribe":{"channel":"a","token":"t"}}"#]
        ),
        (
            #"{"id":2,"sub_refresh":{"token":"t"},"sub_refresh":{"channel":"a"}}"#,
            [#"{"id":2,"sub_refresh":{"channel":"a","token":"t"}}"#]
        ),
        (#"{"id":2,"subscribe":{"channel":"a"},"subscribe":null}"#, [#"{"id":2}"#]),
        (#"{"id":2,"publish":{"data":{"a":1},"data":2}}"#, [#"{"id":2,"publish":{"data":2}}"#]),
        // null
        (
            #"{"id":2,"subscribe":{"channel":"a","recover":null,"offset":null,"epoch":null,"flag":null}}"#,
            [#"{"id":2,"subscribe":{"channel":"a"}}"#]
        ),
        (
            #"{"id":1,"connect":{"headers":{"a":null},"subs":null,"token":null}}"#,
            [#"{"id":1,"connect":{"headers":{"a":""}}}"#]
        ),
        (#"{"id":1,"connect":{"subs":{"a":null}}}"#, [#"{"id":1,"connect":{"subs":{"a":{}}}}"#]),
        (#"{"id":3,"history":{"since":{"offset":1},"since":null}}"#, [#"{"id":3,"history":{}}"#]),
        // payloads, as they stand there
        (#"{"id":3,"publish":{"data": null }}"#, [#"{"id":3,"publish":{"data":null}}"#]),
        (
            #"{"id":3,"rpc":{"data":{ "a" : 1.10,"a":"\u0041"} }}"#,
            [#"{"id":3,"rpc":{"data":{ "a" : 1.10,"a":"\u0041"}}}"#]
        ),
        // numbers
        (
            #"{"id":4294967295,"subscribe":{"offset":18446744073709551615,"flag":-9223372036854775808}}"#,
            [#"{"id":4294967295,"subscribe":{"offset":18446744073709551615,"flag":-9223372036854775808}}"#]
        ),
    ]

    /// The requests in the order in which the real server looks for them.
    static let methods = [
        "connect", "ping", "subscribe", "unsubscribe", "publish", "presence", "presence_stats", "history", "rpc",
        "send",
        "refresh", "sub_refresh",
    ]

    /// Frames of clients that the real server closes the connection for.
    static let mistakes: [(String, WireError.Code, Int)] = [
        ("", .emptyFrame, 0), ("\n", .emptyLine, 0), ("\n{}", .emptyLine, 0), ("{}\n\n{}", .emptyLine, 3),
        ("{}\n\n", .emptyLine, 3), (" ", .cutOff, 1), ("{}\n\r", .cutOff, 4),
        // not JSON
        ("hello", .wrongType, 0), ("{", .cutOff, 1), ("{x", .notJSON, 1), (#"{"id"#, .notJSON, 2),
        (#"{"id""#, .cutOff, 5),
        (#"{"id":"#, .cutOff, 6), (#"{"id":1"#, .cutOff, 7), (#"{"id":1,}"#, .notJSON, 8), (#"{"id" 1}"#, .notJSON, 5),
        (#"{"id":1 "ping":{}}"#, .notJSON, 8), (#"{"id":01}"#, .notJSON, 6), (#"{,"id":1}"#, .notJSON, 1),
        (#"{"id":1,"yyy":nul}"#, .notJSON, 14), (#"{"id":1,"yyy":{"a":[1,]}}"#, .notJSON, 14),
        (#"{"id":1,"yyy":"\q"}"#, .notJSON, 14), ("{\"id\":1,\"yyy\":\"\u{1}\"}", .notJSON, 14),
        ("{\"id\":1,\"\t\":1}", .notJSON, 9), (#"{"id":1,"ping":{},}"#, .notJSON, 18),
        ("{\"id\":1,\n\"ping\":{}}", .cutOff, 8), ("\u{feff}{}", .wrongType, 0),
        (#"{"id":1,"publish":{"data":tru}}"#, .notJSON, 26), (#"{"id":1,"publish":{"data":}}"#, .notJSON, 26),
        (#"{"id":1,"publish":{"data":"#, .notJSON, 26), (#"{"id":1,"connect":{"headers":{"a"}}}"#, .notJSON, 33),
        // values that a field cannot have
        ("[1]", .wrongType, 0), ("1", .wrongType, 0), (#""x""#, .wrongType, 0), ("true", .wrongType, 0),
        (#"{"id":-1}"#, .wrongType, 6), (#"{"id":-0}"#, .wrongType, 6), (#"{"id":4294967296}"#, .wrongType, 6),
        (#"{"id":2.0}"#, .wrongType, 6), (#"{"id":2e0}"#, .wrongType, 6), (#"{"id":"1"}"#, .wrongType, 6),
        (#"{"id":true}"#, .wrongType, 6), (#"{"id":{}}"#, .wrongType, 6), (#"{"subscribe":[]}"#, .wrongType, 13),
        (#"{"subscribe":"x"}"#, .wrongType, 13), (#"{"ping":[]}"#, .wrongType, 8), (#"{"rpc":1}"#, .wrongType, 7),
        (#"{"subscribe":{"channel":1}}"#, .wrongType, 24), (#"{"refresh":{"token":[]}}"#, .wrongType, 20),
        (#"{"subscribe":{"recover":1}}"#, .wrongType, 24), (#"{"subscribe":{"recover":"true"}}"#, .wrongType, 24),
        (#"{"subscribe":{"offset":18446744073709551616}}"#, .wrongType, 23),
        (#"{"subscribe":{"flag":9223372036854775808}}"#, .wrongType, 21),
        (#"{"history":{"limit":2147483648}}"#, .wrongType, 20), (#"{"history":{"limit":1.5}}"#, .wrongType, 20),
        (#"{"history":{"since":[]}}"#, .wrongType, 20), (#"{"connect":{"subs":[]}}"#, .wrongType, 19),
        (#"{"connect":{"subs":{"a":1}}}"#, .wrongType, 24), (#"{"connect":{"headers":{"a":1}}}"#, .wrongType, 27),
    ]
}
