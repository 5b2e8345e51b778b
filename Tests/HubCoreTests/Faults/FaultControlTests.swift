import LocalHTTP
import RoomsRuntime
import RoomsWire
import Testing

@testable import HubCore

/// The endpoint at which faults are asked for.
@Suite struct FaultControlTests {
    @Test("there is none unless it is asked for, and never on the hub's own addresses")
    func off() throws {
        #expect(try RunningHub().server.faultAddress == nil)
        let hub = try FaultyHub()
        #expect(try FaultyHub.request(hub.port(0), "GET /faults", nil, []).status == 404)
        #expect(try FaultyHub.request(hub.port(0), "POST /faults/reset", "{}", []).status == 404)
        #expect(hub.hub.server.faultAddress?.isLoopback == true)
    }

    @Test(
        "requests that are none, and what would be right",
        arguments: [
            ("new_epoch", #"{"chanel":"order:1"}"#, #"1:2: chanel: nothing is called so, did you mean \"channel\"?"#),
            ("new_epoch", "{}", #"1:1: channel: is missing, write \"channel\": \"…\""#),
            ("new_epoch", "[]", "1:1: is not an object, write { … }"),
            ("new_epoch", #"{"channel":"no:such:room"}"#, "1:12: channel: is no room of this hub, name one that"),
            ("new_epoch", #"{"channel":"live:1"}"#, "1:12: channel: keeps nothing and has no offsets, name a room"),
            ("new_epoch", #"{"channel":7}"#, "1:12: channel: is not a string, write"),
            (
                "new_epoch", "{\"channel\":\"order:1\",\n \"noticed\":\"soon\"}",
                #"2:12: noticed: is not one of the three, write \"now\", \"publication\" or \"never\""#
            ),
            ("skip_offset", #"{"channel":"order:1","count":0}"#, "1:30: count: is not a whole number from 1 to "),
            ("go_back", #"{"channel":"order:1"}"#, "1:1: offset: is missing, write a whole number from 0 to "),
            (
                "go_back", #"{"channel":"order:1","offset":9}"#,
                "1:31: offset: is ahead of the stream, its last offset is 0"
            ),
            ("close", "{}", "1:1: code: is missing, write a whole number from 1000 to 4999"),
            ("close", #"{"code":1006}"#, "1:9: code: is no code that a close frame may carry, write for example 3001"),
            ("close", #"{"code":5000}"#, "1:9: code: is not a whole number from 1000 to 4999"),
            (
                "close", #"{"code":3001,"reason":"\#(String(repeating: "x", count: 124))"}"#,
                "1:23: reason: is longer than 123 bytes"
            ),
            ("cut", #"{"listener":"127.0.0.1:1"}"#, #"1:13: listener: is no address of this hub, write \"127.0.0.1:"#),
            ("cut", #"{"reset":1}"#, "1:10: reset: is not a boolean, write true or false"),
            ("silence", #"{"user":"alice","new":true}"#, #"1:23: new: does not go with \"client\" or \"user\", who"#),
            ("delay", "{}", #"1:1: by: is missing, say how long: \"by\": \"200ms\""#),
            ("delay", #"{"by":200}"#, "1:7: by: is not a length of time, write for example"),
            ("pause", "{}", #"1:1: pauses nothing, write {\"reading\": true} or"#),
            ("throttle", #"{"bytes_per_second":0}"#, "1:21: bytes_per_second: is not a whole number from 1 to"),
            ("fail_subscribes", "{}", "1:1: code: is missing, write a whole number from 1 to 4999"),
            ("fail_subscribes", #"{"code":103,"pattern":"{"}"#, "1:23: pattern: a { without a }, write {x}"),
            ("fail_subscribes", #"{"code":3004,"temporary":true}"#, "1:26: temporary: does not go with a close, leave"),
            ("fail_connects", #"{"code":2000}"#, "1:9: code: is no code that a close frame may carry, write"),
            ("refuse_upgrades", #"{"status":200}"#, "1:11: status: is not a whole number from 400 to 599, write"),
            ("listener", "{}", "1:1: address: is missing, write"),
            ("listener", #"{"address":"127.0.0.1:1","cut":true}"#, "1:12: address: is no address of this hub, write"),
            ("reset", #"{"all":true}"#, "1:2: all: nothing is called so, "), ("reset", "{", "1:2: "),
        ]
    )
    func badRequests(_ name: String, _ body: String, _ message: String) throws {
        let answer = try FaultyHub().ask(name, body)
        #expect(answer.status == 400)
        #expect(answer.body.hasPrefix(#"{"error":"bad_request","message":""# + message), "\(answer.body)")
    }

    @Test("several mistakes are told at once, and nothing is done")
    func severalMistakes() throws {
        let hub = try FaultyHub()
        let answer = try hub.ask("fail_subscribes", #"{"code":103,"count":-1,"patern":"x"}"#)
        #expect(answer.status == 400)
        #expect(answer.body.contains("1:21: count: ") && answer.body.contains("; 1:24: patern: "), "\(answer.body)")
        _ = try hub.client().join("order:1")
    }

    @Test("another name, method or path, and a page in a browser")
    func elsewhere() throws {
        let hub = try FaultyHub()
        let misspelt = try hub.ask("new_epok")
        #expect(misspelt.status == 404)
        #expect(misspelt.body.contains(#"no fault is called \"new_epok\", did you mean \"new_epoch\"?"#))
        #expect(try hub.ask("earthquake").body.contains("the faults are new_epoch, drop_history, "))
        let requests = [
            ("GET /faults/reset", 405), ("POST /faults", 405), ("GET /", 404), ("POST /faultsreset", 404),
        ]
        for (line, status) in requests {
            #expect(try FaultyHub.request(hub.faultPort, line, nil, []).status == status)
        }
        #expect(try hub.ask("reset", headers: ["Origin: http://127.0.0.1:3000"]).status == 403)
        #expect(try hub.ask("reset", "").body == #"{"result":{}}"#)
    }

    @Test("the report shows listeners, connections and faults; reset ends them all")
    func reportAndReset() throws {
        let hub = try FaultyHub(listeners: 2)
        let client = try hub.client(listener: 1, as: "alice", format: .json)
        _ = (try client.join("order:2"), try client.join("order:1"))
        try hub.fault("throttle", #"{"bytes_per_second":9,"listener":"\#(hub.addresses[0])","new":true}"#)
        try hub.fault("pause", #"{"reading":true,"user":"alice"}"#)
        try hub.fault("fail_subscribes", #"{"code":103,"count":3,"pattern":"order:{id}"}"#)
        try hub.fault("fail_connects", #"{"code":3500}"#)
        try hub.fault("refuse_upgrades", #"{"count":7}"#)
        try hub.fault("new_epoch", #"{"channel":"order:1"}"#)
        try hub.fault("duplicate_push", #"{"channel":"live:1","count":4}"#)
        try hub.fault("listener", #"{"address":"\#(hub.addresses[1])","refuse":true}"#)
        #expect(
            try String(decoding: hub.report.raw, as: UTF8.self) == """
                {"listeners":[{"address":"\(hub.addresses[0])","refuses":false,"connections":0,\
                "new":{"bytes_per_second":9}},{"address":"\(hub.addresses[1])","refuses":true,"connections":1}],\
                "connections":[{"client":"\(client.id)","user":"alice","listener":"\(hub.addresses[1])",\
                "format":"json","rooms":["order:1","order:2"],"queued":0,"faults":{"reading_paused":true}}],\
                "rooms":{"live:1":{"duplicate_push":4},"order:1":{"misplaced_members":1}},\
                "fail_subscribes":[{"count":3,"code":103,"message":"permission denied","pattern":"order:{id}"}],\
                "fail_connects":[{"count":1,"code":3500,"message":""}],"refuse_upgrades":[{"count":7,"status":503}]}
                """
        )
        try hub.fault("reset")
        #expect(
            try String(decoding: hub.report.raw, as: UTF8.self) == """
                {"listeners":[{"address":"\(hub.addresses[0])","refuses":false,"connections":0},\
                {"address":"\(hub.addresses[1])","refuses":false,"connections":1}],\
                "connections":[{"client":"\(client.id)","user":"alice","listener":"\(hub.addresses[1])",\
                "format":"json","rooms":["order:1","order:2"],"queued":0}],\
                "rooms":{},"fail_subscribes":[],"fail_connects":[],"refuse_upgrades":[]}
                """
        )
        // The stream stays new, and whoever was to be told of it hears the publication.
        try hub.publish("order:1")
        #expect(try client.nextOffset() == 1)
        _ = try hub.client(listener: 1).join("order:3")
    }

    @Test("the configuration names a loopback address or none")
    func configuration() throws {
        #expect(try HubConfiguration.parse(Array(#"{"faults":"[::1]:0"}"#.utf8)).faults == "[::1]:0")
        #expect(try HubConfiguration.parse(Array("{}".utf8)).faults == nil)
        for (text, what) in [("\"0.0.0.0:1\"", "is not loopback"), ("8001", "is no address and port")] {
            let error = #expect(throws: HubConfigurationError.self) {
                try HubConfiguration.parse(Array("{\"faults\":\(text)}".utf8))
            }
            #expect(error?.issues.first?.description.hasPrefix("1:11: faults: \(what)") == true)
        }
    }
}
