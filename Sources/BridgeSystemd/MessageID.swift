/// The `MESSAGE_ID` of each kind of message: what filters and alarms can name, and what `journalctl -x` explains.
///
/// The texts are those of the log calls; `deploy/roombridge.catalog` tells of each what happened and what to do. Ids are
/// made with `systemd-id128 new` and never used for anything else, even when their message is gone.
package enum MessageID {
    /// By the text of the message.
    package static let all: [String: String] = [
        // Start and end
        "started":
            "8e0cd48f85c94162855e718b5022d351",
        "a new state directory: rooms begin where the configuration says":
            "fd27344129a04e6dbc739006deefe0bc",
        "stopping":
            "1020b2eb7a6248ec9f686eee1abe15a7",
        "stopped":
            "807dde8ca8f14d24a1eb23a45948163c",
        "a second signal: ends without waiting":
            "33ffcf1de56c46f3a15cc1954e1099cc",
        "the configuration was refused":
            "c573f34b96474e01bcac71bbe00f3aec",
        "the limit of open files is too low":
            "9b69373d9c894ad09b37256222cac1e4",
        "the configuration is good and as it was":
            "782fde1e4d3c4957b63523a7f8f399f9",
        "the configuration is good and has changed: it counts from the next start on":
            "7a135261d70d4122a518a182e052ac9a",
        "the configuration file has a mistake: the configuration that runs stays as it is":
            "f9ce17cb8517447a91f58f2405b21b38",
        "a thread was slow":
            "69383f6a132c4cb5ac4e37c1b3217b9d",
        "a thread makes no progress: the service manager will start the service anew":
            "d5713662ffb64e8699b58dfb5f47d6e7",
        "cannot start":
            "949f51cf8be943caa910168110c6de9d",
        "the state cannot be used":
            "028cad8189eb423882216ce401534339",
        "commands cannot reach this service":
            "08db7370e57f4e0cb69ad440df47df18",
        // The server
        "connected to the server":
            "25eaf9e52e174ef4b5f068365c8198b9",
        "rooms are joined":
            "fdb8d5e27b3547ecb5129278d3237c28",
        "no connection to the server; it is tried again":
            "5e0f06b1b73247c69d99ca3444aa37c3",
        "the server refused the connection; it is tried again only after a long pause":
            "7a57acd2e0e642fdb8cb88bbcb6330bc",
        "the server said something that this client does not know or did not ask for; it is ignored":
            "8c0e5755aa604d3ea8c1c891c6f4be88",
        "the connection token runs out and there is no new one":
            "74e2152f112f4730b52ac5adac886284",
        "the connection token cannot be had":
            "7c8ff7d771fb4815841990ec3547c918",
        "the server refused to renew the connection token":
            "8d58fd06612044d58554673ec67c0d11",
        "the connection is closed until events can be stored again":
            "c885ece99d414113aaddf751e2bc4033",
        "the server allows this user fewer connections: more rooms on each":
            "a40c4835270c404b99d37096d6bc3da0",
        "the auth route refuses this user":
            "9d5a315182264f77958d988458c880b9",
        "the auth route cannot be used":
            "396f69f06f7343ce9c438c451ef07bdc",
        "this machine's clock and the other side's are more than two minutes apart":
            "f438f24a74384c349ac37019cef4df94",
        "the server's authorities cannot be read again, the last good ones stay in use":
            "369434e093784e47b6008a7cff1ab43f",
        // Rooms
        "room joined":
            "abe7f29dbfd44b74bf2de7fb08509180",
        "the server does not tell how many are in a room":
            "18c42f7b3c2343e192fd83929043d120",
        "what was missed in a room is read through the server's API, since clients may not read its history":
            "a23b9a2e73814492bd08ba180e54f26e",
        "the server's API cannot be asked for what was missed in a room; it is tried again, and the room waits":
            "1326419c852948dc812b120286e6b77a",
        "the server's API answers again":
            "756029ba90324b6a82a4413b5520cb3d",
        "the server's API does not give the history of a room either":
            "14f09703620e48c4a92ca2ac0b2ef926",
        "a room is live-only: the server keeps nothing of what happens while nobody listens":
            "ed2a0ce247db48f388f2898a4cfc35ac",
        "a room is durable now":
            "3debd98e547a47bbb0d17f858033ac8b",
        "the room's oldest events were gone before it was joined first":
            "d61980c9b60e49a18f247bd8d87ef0b2",
        "events of a room are missing":
            "6fc3924678f5426387a03d184e398ae4",
        "events are missing between live ones, the room is joined again":
            "f0c2313e42c04776b138f461158ed7a3",
        "an event came without a position: what is published so is lost to whoever is not connected":
            "e5015e0b92b141148d9185f4e467fd8c",
        "a room cannot be joined":
            "71ed313c8f174d9f972e806d8c1ab20c",
        "a room cannot be joined yet, it is tried again":
            "f4b3c692f20c4bd49f2ef784b40dfd8c",
        "the server ended a subscription, it is renewed":
            "4016c5ed78924e5d989826011bc37a17",
        "the server ends the connection over one room, which has to wait":
            "85a4112c14c9468d8cd622919347844d",
        "the token of a room cannot be had":
            "90f214b970a24250bc0edd6439b179e8",
        "a room's token runs out and no new one is given":
            "3cee4c828e094b5daf6f6e148e2d8b81",
        "a room's token runs out and there is no new one":
            "3fb7b99a27b745a6970e7c18dcf64aae",
        "the server refused to renew a room's token":
            "2013eee3842f4be1807b3bfdc3590d8e",
        // Endpoints
        "the endpoint is not well, its events wait":
            "1188927d7f6d4758999a173ca8999d40",
        "the endpoint is well again":
            "7462cd02d82344fdac80d7539e7de142",
        "changed secrets or certificates are in use from now on":
            "7cc77341c3af4d0dac58c679234e6b25",
        "the secrets and certificates can be read again, nothing has changed":
            "70212cf1ae9843e991b7a22a940cc7c7",
        "changed secrets or certificates cannot be used, the last good ones stay in use":
            "54d37da6182144b0a193039b4ff9b67c",
        "an endpoint has not been well for a long time: somebody should look after it":
            "6764964e09d24f83b2c8d9e62866ac96",
        "an event was not accepted, its room waits":
            "5f1c68a8467047779fbbe13095cb6b10",
        "the room's events are accepted again":
            "cfe2fc82edf141d0bbd5e6c78b96394c",
        "an event fails again and again while others are accepted: it may be its own fault":
            "d072dbc5523a42fabbf877a369392e3d",
        "an event was refused for good: it is among the dead letters, its room goes on":
            "b6caa835c0ff4ea3b8e672399c36d066",
        "this kernel does not tell what the receiver has read: it must answer each line, as with \"ack\": \"line\"":
            "a1e0670fe24145e1a282bfe9210d6497",
        "events wait for an endpoint that is not configured":
            "47815062dc2249fb8be6e3c50ba4925d",
        "an endpoint is not configured any more":
            "81e3e5cdbad84bc4b6241a517e60500d",
        "an endpoint is not configured any more: what waited for it is dropped":
            "18d1942267354b188f518c5a2076e59b",
        "an endpoint is not configured any more: its dead letters are dropped":
            "98730d6c8e2e42ae9beed978cebe3001",
        "an operator sends dead letters again":
            "f9034c0fce46406d9f54f9055f867757",
        "an operator removed dead letters":
            "faf3b8fbe5c4431c9e6fa4865a7e8322",
        // The buffer and the disk
        "an endpoint holds too much of the buffer: its rooms are left until it accepts some":
            "988559ec754142ca9633ed437e685e23",
        "an endpoint holds less of the buffer again: its rooms are joined again":
            "9922c73345dd475d9f378e8170066370",
        "the buffer is full: nothing more comes in until endpoints accept what waits":
            "1e5043c407794a3e9962ece2579e1655",
        "the buffer has room again: intake goes on":
            "48c21c2da0cc4f72aa578a2f25ca4735",
        "an endpoint loses its oldest events, as the configuration says; it gets a gap in their place":
            "07da585afd2e451da79880a51ecfc29e",
        "the disk is full: nothing more comes in until there is space, what is stored goes on":
            "99e699d76b5d441ca675329ddfff25c0",
        "the disk has space again":
            "db0f4ac8889343409ba0bb1b16aca1a5",
        "stopped with a full disk: the server keeps what could not be stored":
            "77bf89990de3465e8a573ef70117e43d",
        "the store cannot go on":
            "4e3b645492944f33a859c94207207a35",
        "a rollback failed":
            "edc9c64167704bfea73430a77b59b393",
        "a stored event is damaged: its endpoints get a gap in its place, and it is kept in quarantine":
            "2517cf6013234e1c9ac161d5dfc59654",
        "the store is damaged: what can be read of it is saved, and it is moved aside as it is":
            "43ae03c8d38b47829bc5c75ab55869cc",
        "the store was saved as far as it could be read; where events are missing, endpoints get gaps":
            "6690b3c31f174a888f8cb5e1705853c8",
        "nothing of the damaged store could be read: rooms begin where the configuration says":
            "768fdf4f5f954ccca7ab8c8e9b668800",
        "events were saved of rooms or endpoints whose names are lost: they are kept in quarantine":
            "6866fa0a4d694c37be3a8ecddf1b91c6",
        "the end of the store is gone, as after a power cut: the server is asked again for what it held":
            "cb2f00e55ded419a967c72307f975ec2",
        "dead letters are damaged and are not sent again":
            "f60b0fbd672543108ed370406bf5e3ef",
        "the store was brought up to date; as it was before it lies beside it":
            "8d0fa96032e04f20baee56376cd59a75",
        "a room came to its end with another number of events than were stored for it":
            "c0507d36dc6548669a875dd579028cd6",
        "an event names a room that the store does not know":
            "4b3ae9638bc8463680dda98b74197977",
        "a room has an id that cannot be":
            "82e121f6113f4bb9be81e57a4d71dcc7",
        "a lane belongs to a room or an endpoint that is not there":
            "6e313fabdaa045a3b4e790e0cea9d751",
        "a lane is there twice":
            "0c84f7d0b45242b697c125b672787b20",
        // The log itself
        "lines of one kind came too often: those after the tenth in a minute were left out":
            "a7ea7a4c150d4e6d90876002f0ab8309",
        "log lines were dropped because they came too fast":
            "ffe6f4e5c09f4e3a9d7dafc497ff60ca",
    ]
}
