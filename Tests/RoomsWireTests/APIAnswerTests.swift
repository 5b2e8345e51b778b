import RoomsRuntime
import RoomsWire
import Testing

@Suite struct APIAnswerTests {
    private func decode(_ text: String) -> APIAnswer? { APIAnswer.decodeHistory(Array(text.utf8)) }

    @Test("what a real server answered, with text that is not UTF-8 in it")
    func real() throws {
        let head = #"{"result":{"publications":[{"data":{"a":[1.10,2],"x":"\u003c \ud800","k":1,"k":2},"offset":1},"#
        let body =
            Array(head.utf8) + Array(#"{"data":""#.utf8) + [0xff, 0xfe]
            + Array(
                #"","info":{"user":"ann","client":"c","conn_info":{"n":1}},"offset":2,"tags":{"event":"e"}}],"#.utf8
            )
            + Array(#""epoch":"xEnc","offset":6}}"#.utf8)
        guard case .history(let result) = APIAnswer.decodeHistory(body) else {
            Issue.record("not read")
            return
        }
        #expect(result.epoch == "xEnc" && result.offset == 6)
        #expect(result.publications.map(\.offset) == [1, 2])
        #expect(result.publications[0].data == Payload(#"{"a":[1.10,2],"x":"\u003c \ud800","k":1,"k":2}"#))
        #expect(result.publications[1].data == Payload([0x22, 0xff, 0xfe, 0x22]))
        #expect(result.publications[1].info?.user == "ann")
        #expect(result.publications[1].tags == [Tag(key: "event", value: "e")])
    }

    @Test("roomhub gives what is not JSON as base64")
    func binary() {
        let answer = decode(#"{"result":{"publications":[{"b64data":"AP8=","offset":3}],"epoch":"e","offset":3}}"#)
        guard case .history(let result) = answer else {
            Issue.record("not read")
            return
        }
        #expect(result.publications.first?.data == Payload([0, 0xff]))
    }

    @Test("an error, and what is no answer at all")
    func others() {
        let error = decode(#"{"error":{"code":112,"message":"unrecoverable position"}}"#)
        #expect(error == .error(ErrorReply(code: 112, message: "unrecoverable position")))
        for text in [
            "", "null", "{}", "<html>", #"{"result":[]}"#, #"{"result":{"publications":[{"#, "Internal Server Error\n",
        ] {
            #expect(decode(text) == nil, "\(text)")
        }
    }
}
