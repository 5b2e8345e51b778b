internal import RoomsRuntime
internal import RoomsWire

/// One event as an app would publish it, and the pushes of it that a server sends.
enum SamplePush {
    /// 345 bytes; with room, offset and the rest of a push they are 400 or a little less.
    static let payload = """
        {"event":"updated","data":{"order":1042,"status":"shipped","total":129.95,"paid":true,\
        "items":[{"sku":"A-1001","count":2,"price":49.5},{"sku":"B-2002","count":1,"price":30.95}],\
        "address":{"name":"Zoë Example","street":"12 Long Street","city":"Springfield"},\
        "note":"Leave it with the neighbours, please: the bell does not work, and nobody is at home before noon."}}
        """

    /// Of the names of the rooms.
    static let roomLength = 10

    /// The message of one event, behind its length.
    static func message(room: Int, offset: UInt64) -> [UInt8] {
        let publication = Publication(data: Payload(payload), offset: offset, time: 1_700_000_000_000)
        var bytes: [UInt8] = []
        let push = Push(channel: ByteString("order:\(1_000 + room)"), .publication(publication))
        ProtobufCodec.encode(Reply(id: 0, .push(push)), into: &bytes)
        return bytes
    }

    /// WebSocket frames of one message each, for the rooms of a `PushSource` in turn.
    static func frames(_ events: Int) -> [UInt8] {
        var frames: [UInt8] = []
        for event in 0..<events {
            let message = message(room: event % PushSource.rooms, offset: UInt64(event / PushSource.rooms + 1))
            frames += [0x82, 126, UInt8(message.count >> 8), UInt8(message.count & 0xff)] + message
        }
        return frames
    }
}
