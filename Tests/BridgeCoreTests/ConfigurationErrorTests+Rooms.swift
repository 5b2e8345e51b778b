import Testing

/// The mistakes of rooms, and of what belongs to no part.
extension ConfigurationErrorTests {
    static let rooms: [ConfigurationMistake] = [
        .rooms("{}", #"4:12: rooms: is an object, must be a list such as [{"room": "shop", "to": ["app"]}]"#),
        .rooms("[]", #"4:12: rooms: is empty, must be a list such as [{"room": "shop", "to": ["app"]}]"#),
        .rooms(#"["shop"]"#, #"4:13: rooms[0]: is a text, must be an object such as {"room": "shop", "to": ["app"]}"#),
        .rooms(#"[{"to": ["app"]}]"#, #"4:13: rooms[0]: names no room, must have "room" or "rooms_file""#),
        .rooms(
            #"[{"room": "shop"}]"#,
            #"4:13: rooms[0]: "to" is missing, must be a list of endpoints such as ["app"]"#
        ),
        .rooms(
            #"[{"room": "shop", "to": "app"}]"#,
            #"4:36: rooms[0].to: is a text, must be a list of endpoints such as ["app"]"#
        ),
        .rooms(
            #"[{"room": "shop", "to": []}]"#,
            #"4:36: rooms[0].to: is empty, must be a list of endpoints such as ["app"]"#
        ),
        .rooms(
            #"[{"room": "shop", "to": ["ap"]}]"#,
            #"4:37: rooms[0].to[0]: there is no endpoint "ap"; did you mean "app"?"#
        ),
        .rooms(
            #"[{"room": "shop", "to": ["orders"]}]"#,
            #"4:37: rooms[0].to[0]: there is no endpoint "orders", must be "app""#
        ),
        .rooms(
            #"[{"room": "shop", "to": ["app", "app"]}]"#,
            #"4:44: rooms[0].to[1]: is "app" for the second time, take one out"#
        ),
        .rooms(
            #"[{"room": "shop", "to": ["app"]}, {"room": "shop", "events": ["x"], "to": ["app"]}]"#,
            #"4:55: rooms[1].room: room "shop" goes to endpoint "app" already, must be named once for it (one entry can list all its events)"#
        ),
        .rooms(#"[{"room": "", "to": ["app"]}]"#, "4:22: rooms[0].room: is empty, must be the name of a room"),
        .rooms(
            #"[{"room": "\#(String(repeating: "r", count: 1_025))", "to": ["app"]}]"#,
            "4:22: rooms[0].room: is 1025 bytes long, a room's name has at most 1024"
        ),
        .rooms(
            #"[{"room": "shop", "server": "mian", "to": ["app"]}]"#,
            #"4:40: rooms[0].server: there is no server "mian"; did you mean "main"?"#
        ),
        .rooms(
            #"[{"room": "shop", "events": [], "to": ["app"]}]"#,
            #"4:40: rooms[0].events: is empty, must be a list of names of events such as ["updated", "order.*"]; leave it out to have all events"#
        ),
        .rooms(
            #"[{"room": "shop", "events": ["a*b"], "to": ["app"]}]"#,
            #"4:41: rooms[0].events[0]: is "a*b", must have "*" only at the end"#
        ),
        .rooms(
            #"[{"room": "shop", "from": "earlyest", "to": ["app"]}]"#,
            #"4:38: rooms[0].from: is "earlyest", must be one of "now", "earliest"; did you mean "earliest"?"#
        ),
        .rooms(
            #"[{"room": "shop", "types": [], "to": ["app"]}]"#,
            #"4:39: rooms[0].types: is empty, must be a list such as ["member", "count", "state"]; leave it out to have events and gaps alone"#
        ),
        .rooms(
            #"[{"room": "shop", "events": [], "types": ["members"], "to": ["app"]}]"#,
            #"4:54: rooms[0].types[0]: is "members", must be one of "member", "count", "state"; did you mean "member"?"#
        ),
        .rooms(
            #"[{"room": "shop", "types": ["count", "count"], "to": ["app"]}]"#,
            #"4:49: rooms[0].types[1]: is "count" for the second time, take one out"#
        ),
        .rooms(
            #"[{"room": "shop", "types": "state", "to": ["app"]}]"#,
            #"4:39: rooms[0].types: is a text, must be a list such as ["member", "count", "state"]"#
        ),
        .rooms(
            #"[{"room": "shop", "rooms_file": "x", "to": ["app"]}]"#,
            #"4:22: rooms[0].room: stands beside "rooms_file", must be one of the two"#
        ),
        .rooms(
            #"[{"rooms_file": "/nonexistent/rooms", "to": ["app"]}]"#,
            "4:28: rooms[0].rooms_file: /nonexistent/rooms is not there, must be a file"
        ),
    ]

    static let others: [ConfigurationMistake] = [
        .more(
            #" "buffer": {"max_size": "1GB"}"#,
            #"5:26: buffer.max_size: is "1GB", must be a size with a unit (B, KiB, MiB, GiB, TiB) such as "1GiB""#
        ),
        .more(
            #" "buffer": {"max_size": 1073741824}"#,
            #"5:26: buffer.max_size: is a number, must be a size with a unit (B, KiB, MiB, GiB, TiB) such as "1GiB""#
        ),
        .more(
            #" "buffer": {"max_size": "1KiB"}"#,
            #"5:26: buffer.max_size: is "1KiB", must be at least 1048576 bytes"#
        ),
        .more(
            #" "buffer": {"max_size": "99999999999TiB"}"#,
            #"5:26: buffer.max_size: is "99999999999TiB", must be a size with a unit (B, KiB, MiB, GiB, TiB) such as "1GiB""#
        ),
        .more(
            #" "buffer": {"keep_delivered": "1h"}"#,
            "5:14: buffer.keep_delivered: is not supported by this version of RoomBridge, leave it out"
        ),
        .more(
            #" "log": {"level": "warn"}"#,
            #"5:20: log.level: is "warn", must be one of "error", "warning", "notice", "info", "debug"; did you mean "warning"?"#
        ),
        .more(
            #" "control": {"metrics": "127.0.0.1:9464"}"#,
            "5:3: control: is not supported by this version of RoomBridge, leave it out"
        ),
        .more(#" "server": {}"#, #"5:3: server: is not a known key; did you mean "servers"?"#),
        .more(
            #" "zzzzzzzzz": {}"#,
            #"5:3: zzzzzzzzz: is not a known key, must be one of "$schema", "servers", "endpoints", "rooms", "buffer", "log""#
        ),
    ]
}
