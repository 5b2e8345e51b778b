"""What a client written with PyPI's `centrifuge-python` can expect of a server.

    centrifuge_session.py json|protobuf WEBSOCKET_URL API_URL API_KEY TOKEN_SECRET

The server must have just been started, with the rooms of centrifugo.json beside this file; each check has rooms of its own.
"""

import asyncio
import base64
import sys
import time

import cent
import centrifuge
from centrifuge import ClientState, StreamPosition, SubscriptionState

from checks import Failed, Seen, alongside, check, equal, holds, run

# ---- connecting


@check
async def connect_without_token(server):
    """connects without a token"""
    client = server.client()
    await client.connect()
    context = await client.seen.next("connected")
    equal(len(context.client), 36, "the length of the client's id")
    holds(context.version, "no version")
    equal(context.data, None, "data")
    equal(client.state, ClientState.CONNECTED)
    equal([(await client.seen.next("connecting")).code, client.seen.count("error")], [0, 0])


@check
async def connect_with_token(server):
    """connects with a token and is known by its user and info"""
    client = await server.connected("ada")
    await server.joined(client, "order:token")
    presence = await client.presence("order:token")
    equal(list(presence.clients), [client.client_id], "who is there")
    info = presence.clients[client.client_id]
    equal([info.client, info.user, server.into(info.conn_info), info.chan_info], [client.client_id, "ada", {"name": "ADA"}, None])


@check
async def data_of_the_client(server):
    """data that a client sends on connecting and joining is taken"""
    client = await server.connected(data=server.out({"a": 1}), name="n" * 16, version="1.2.3")
    room = await server.joined(client, "order:data", data=server.out([1]))
    equal(room.first.data, None)


@check
async def expired_token_is_renewed(server):
    """an expired token is answered with 109, and a new one is asked for"""
    given = [server.token("ada", life=-10), server.token("ada", life=600)]

    async def get_token():
        return given.pop(0)

    client = server.client(get_token=get_token)
    await client.connect()
    error = await client.seen.next("error")
    equal([error.error.code, error.error.message], [109, "token expired"])
    await client.seen.next("connected")
    equal(given, [], "tokens not asked for")


@check
async def expired_token_ends(server):
    """an expired token that cannot be renewed ends the client as unauthorized"""
    client = server.client(token=server.token("ada", life=-10))
    await client.connect()
    equal((await client.seen.next("error")).error.code, 109)
    equal((await client.seen.next("disconnected")).code, 1)


@check
async def token_of_the_future(server):
    """a token that is not valid yet is answered with 109"""
    client = server.client(token=server.token("ada", nbf=4_000_000_000))
    await client.connect()
    equal((await client.seen.next("error")).error.code, 109)


@check
async def wrong_tokens_end(server):
    """a wrong signature, garbage and a subscription token end the client with 3500"""
    for token in [server.token("ada", secret="another"), "garbage", "a.b.c", server.token("ada", channel="order:1")]:
        client = server.client(token=token)
        await client.connect()
        context = await client.seen.next("disconnected")
        equal([context.code, context.reason], [3500, "invalid token"])
        equal(client.state, ClientState.DISCONNECTED)


@check
async def unknown_room_in_token(server):
    """a token with a room that no rule knows ends the client with 102"""
    client = server.client(token=server.token("ada", channels=["nosuch:1"]))
    await client.connect()
    context = await client.seen.next("disconnected")
    equal([context.code, context.reason], [102, "unknown channel"])


@check
async def odd_claims(server):
    """odd claims of a connection token are taken, or end the client, each in its way"""
    override = {"force_recovery": {}}
    for claims, state, code in [
        ({"expire_at": 0, "exp": 4_000_000_000}, ClientState.CONNECTED, 0),
        ({"expire_at": -1}, ClientState.CONNECTED, 0),
        ({"exp": 4_000_000_000.5, "nbf": 1, "iat": 4_000_000_000, "jti": "x", "meta": {"a": 1}}, ClientState.CONNECTED, 0),
        ({"info": None, "aud": "a", "iss": "b"}, ClientState.CONNECTED, 0),
        ({"channels": [""], "subs": None}, ClientState.CONNECTED, 0),
        ({"subs": {"": {}, "order:odd": {"override": override}, "live:odd": None}}, ClientState.CONNECTED, 0),
        ({"expire_at": 1}, ClientState.DISCONNECTED, 110),
        ({"sub": 5}, ClientState.DISCONNECTED, 3500),
        ({"exp": "soon"}, ClientState.DISCONNECTED, 3500),
        ({"channels": [5]}, ClientState.DISCONNECTED, 3500),
        ({"channels": {}}, ClientState.DISCONNECTED, 3500),
        ({"subs": []}, ClientState.DISCONNECTED, 3500),
        ({"subs": {"live:odd": 5}}, ClientState.DISCONNECTED, 3500),
        ({"subs": {"live:odd": {"b64info": "?"}}}, ClientState.DISCONNECTED, 3500),
        ({"subs": {"order:odd": {"override": {"force_recovery": 5}}}}, ClientState.DISCONNECTED, 3500),
    ]:
        client = server.client(token=server.token("ada", **claims))
        await client.connect()
        ended = state == ClientState.DISCONNECTED
        context = await client.seen.next("disconnected" if ended else "connected")
        equal([client.state, context.code if ended else 0], [state, code], f"after {claims}")
        await client.disconnect()
    client = server.client(token=server.token("ada", b64info="?"))
    await client.connect()
    equal((await client.seen.next("error")).error.code, 100, "the code for base64 that is none")


# ---- subscribing


@check
async def subscribe_public(server):
    """joins a public room that can be recovered"""
    await server.publish("order:public", 1, 2)
    room = await server.joined(await server.connected(), "order:public")
    context = room.first
    equal([context.channel, context.recoverable, context.positioned], ["order:public", True, True])
    equal([context.was_recovering, context.recovered, context.data], [False, False, None])
    equal([context.stream_position.offset, len(context.stream_position.epoch)], [2, 8], "position")
    await server.publish("order:public", {"n": 3})
    publication = (await room.seen.next("publication")).pub
    equal([publication.offset, server.into(publication.data)], [3, {"n": 3}])
    equal([publication.info, publication.tags, publication.delta], [None, {}, False])


@check
async def subscribe_kinds(server):
    """position and recovery are given as the room's rule says"""
    client = await server.connected()
    kinds = {}
    for name, wish in {"order:k": {}, "position:k": {}, "live:k": {}, "plain": {}, "ask:k": {}, "ask:l": {"positioned": True},
                       "ask:m": {"recoverable": True}, "live:l": {"recoverable": True}}.items():
        first = (await server.joined(client, name, **wish)).first
        kinds[name] = (first.positioned, first.recoverable)
    equal(kinds, {"order:k": (True, True), "position:k": (True, False), "live:k": (False, False), "plain": (False, False),
                  "ask:k": (False, False), "ask:l": (True, False), "ask:m": (True, True), "live:l": (False, False)})


@check
async def tags_reach_the_member(server):
    """tags of a publication reach the members"""
    room = await server.joined(await server.connected(), "order:tags")
    await server.publish("order:tags", 1, tags={"event": "updated", "b": ""})
    equal((await room.seen.next("publication")).pub.tags, {"event": "updated", "b": ""})


@check
async def payloads(server):
    """payloads of every JSON kind come as published"""
    room = await server.joined(await server.connected(), "order:payloads")
    values = [0, -1, 1.5, "", "ä\n\u2028\U0001f600\x00", True, False, [], {}, [None, {"a": {"b": [1]}}], {"": 9007199254740991}]
    await server.publish("order:payloads", *values)
    equal(await server.data(room, len(values)), values)


@check
async def private_room(server):
    """a private room is joined with a subscription token that carries info and data"""
    asked = []

    async def get_token(channel):
        asked.append(channel)
        return server.token("ada", channel=channel, info={"role": "x"}, data={"hello": 1})

    client = await server.connected("ada")
    room = await server.joined(client, "$order:private", get_token=get_token)
    equal([asked, server.into(room.first.data)], [["$order:private"], {"hello": 1}])
    info = (await client.presence("$order:private")).clients[client.client_id]
    equal([info.user, server.into(info.chan_info)], ["ada", {"role": "x"}])
    await server.publish("$order:private", 1)
    equal(await server.data(room, 1), [1])


@check
async def info_in_base64(server):
    """tokens may carry their info and data in base64"""

    def text(value):
        return base64.b64encode(value).decode()

    client = await server.connected(token=server.token("ada", b64info=text(b'{"n":1}')))
    token = server.token("ada", channel="$order:b64", b64info=text(b"[2]"), b64data=text(b'"three"'))
    room = await server.joined(client, "$order:b64", token=token)
    equal(server.into(room.first.data), "three")
    info = (await client.presence("$order:b64")).clients[client.client_id]
    equal([server.into(info.conn_info), server.into(info.chan_info)], [{"n": 1}, [2]])


@check
async def token_changes_the_rule(server):
    """a token can change what a room keeps for its member"""
    on, off = {"value": True}, {"value": False}
    more, less = {"force_recovery": on, "force_positioning": on}, {"force_recovery": off, "force_positioning": off}
    subs = {"ask:tr1": {"override": more}, "order:tr2": {"override": less}}
    client = await server.connected(token=server.token("ada", subs=subs))
    contexts = [await client.seen.next("subscribed") for _ in subs]
    for name, override in [("ask:tr3", more), ("order:tr4", less)]:
        contexts.append((await server.joined(client, name, token=server.token("ada", channel=name, override=override))).first)
    got = {context.channel: (context.positioned, context.recoverable) for context in contexts}
    equal(got, {"ask:tr1": (True, True), "order:tr2": (False, False), "ask:tr3": (True, True), "order:tr4": (False, False)})


@check
async def subscription_that_has_ended(server):
    """a subscription token whose expire_at is over is answered with 110"""
    client = await server.connected("ada")
    room = server.room(client, "$order:over", token=server.token("ada", life=600, channel="$order:over", expire_at=1))
    await room.subscribe()
    context = await room.seen.next("unsubscribed")
    equal([context.code, context.reason], [110, "expired"])


@check
async def private_room_refused(server):
    """a private room refuses no token, a wrong signature and garbage with 103"""
    client = await server.connected("ada")
    for token in ["", server.token("ada", secret="another", channel="$order:refused"), "garbage"]:
        room = server.room(client, "$order:refused", token=token)
        await room.subscribe()
        context = await room.seen.next("unsubscribed")
        equal([context.code, context.reason], [103, "permission denied"])
        client.remove_subscription(room)
    equal(client.state, ClientState.CONNECTED)


@check
async def expired_subscription_token(server):
    """an expired subscription token is answered with 109, and a new one is asked for"""
    given = [server.token("ada", life=-10, channel="$order:expired"), server.token("ada", channel="$order:expired")]

    async def get_token(_):
        return given.pop(0)

    client = await server.connected("ada")
    room = await server.joined(client, "$order:expired", get_token=get_token)
    equal((await room.seen.next("error")).error.code, 109)
    equal(given, [], "tokens not asked for")


@check
async def foreign_subscription_token(server):
    """a subscription token for another room, user or client ends the client with 3500"""
    for claims in [{"user": "ada", "channel": "$order:other"}, {"user": "bob", "channel": "$order:foreign"},
                   {"user": "ada", "channel": "$order:foreign", "client": "another"}]:
        client = await server.connected("ada")
        room = server.room(client, "$order:foreign", token=server.token(**claims))
        await room.subscribe()
        context = await client.seen.next("disconnected")
        equal([context.code, context.reason], [3500, "invalid token"])
        equal(room.state, SubscriptionState.SUBSCRIBING)


@check
async def token_bound_to_client(server):
    """a subscription token may be bound to the client"""
    client = await server.connected("ada")
    await server.joined(client, "$order:bound", token=server.token("ada", channel="$order:bound", client=client.client_id))


@check
async def token_opens_a_closed_room(server):
    """a token opens a room that nobody may join"""
    await server.joined(await server.connected(), "closed:1", token=server.token("", channel="closed:1"))


@check
async def odd_claims_of_subscriptions(server):
    """odd claims of a subscription token are taken, or refused with 103"""
    client = await server.connected("ada")
    for number, (claims, code) in enumerate([
        ({"expire_at": 0}, None),
        ({"expire_at": -1}, None),
        ({"data": None, "info": None, "client": ""}, None),
        ({"override": {"force_recovery": None}}, None),
        ({"override": {"force_recovery": {}}}, None),
        ({"channel": ""}, 103),
        ({"b64info": "?"}, 103),
        ({"b64data": "?"}, 103),
        ({"override": {"force_recovery": {"value": "x"}}}, 103),
        ({"exp": "soon"}, 103),
    ]):
        name = f"$order:odd:{number}"
        room = server.room(client, name, token=server.token("ada", **{"channel": name} | claims))
        await room.subscribe()
        context = await room.seen.next("unsubscribed" if code else "subscribed")
        equal([client.state, getattr(context, "code", None)], [ClientState.CONNECTED, code], f"after {claims}")


# ---- errors


@check
async def subscribe_errors(server):
    """rooms that cannot be joined end with 102, 103 and 107"""
    client = await server.connected()
    for name, code, message in [
        ("nosuch:1", 102, "unknown channel"),
        ("closed:1", 103, "permission denied"),
        ("order:ä", 107, "bad request"),
        ("order:" + "x" * 250, 107, "bad request"),
    ]:
        room = server.room(client, name)
        await room.subscribe()
        context = await room.seen.next("unsubscribed")
        equal([context.code, context.reason], [code, message], name)
        equal(room.state, SubscriptionState.UNSUBSCRIBED)
    await server.joined(client, "order:" + "x" * 249)


@check
async def subscribed_twice(server):
    """a room that the server subscribed already is answered with 105"""
    client = await server.connected(token=server.token("ada", channels=["order:twice"]))
    await client.seen.next("subscribed")
    room = server.room(client, "order:twice")
    await room.subscribe()
    context = await room.seen.next("unsubscribed")
    equal([context.code, context.reason], [105, "already subscribed"])


@check
async def too_many_rooms(server):
    """the 129th room of a connection is answered with 106"""
    client = await server.connected()
    for number in range(128):
        await server.joined(client, f"live:{number}")
    room = server.room(client, "live:128")
    await room.subscribe()
    context = await room.seen.next("unsubscribed")
    equal([context.code, context.reason], [106, "limit exceeded"])
    await client.get_subscription("live:0").unsubscribe()
    await room.subscribe()
    await room.seen.next("subscribed")


@check
async def too_many_rooms_in_token(server):
    """a token with more rooms than a connection may have ends the client with 3505"""
    rooms = [f"live:t{number}" for number in range(129)]
    client = await server.connected(token=server.token("ada", channels=rooms[:128]))
    equal(sorted([(await client.seen.next("subscribed")).channel for _ in range(128)]), sorted(rooms[:128]))
    client = server.client(token=server.token("ada", channels=rooms))
    await client.connect()
    context = await client.seen.next("disconnected")
    equal([context.code, context.reason], [3505, "channel limit"])


@check
async def too_many_connections(server):
    """one connection too many of a user ends with 3504; users without a name are not counted"""
    for _ in range(8):
        await server.connected("zoe")
    client = server.client("zoe")
    await client.connect()
    context = await client.seen.next("disconnected")
    equal([context.code, context.reason], [3504, "connection limit"])
    for _ in range(9):
        await server.connected()


@check
async def names(server):
    """names of all ASCII bytes are taken; others are refused in calls too"""
    client = await server.connected()
    for rest in ["", "a b", "\t", "\x7f", "*", "/", "&", "n:o", "#1", "a#1"]:
        await server.joined(client, "live:" + rest)
    calls = [client.publish("order:ä", server.out(1)), client.history("order:ä"), client.presence("order:ä"),
             client.presence_stats("order:ä")]
    equal([await server.error(call) for call in calls], [107] * 4)


@check
async def tags_filter(server):
    """a filter of tags, which no rule allows, is refused with 107"""
    client = await server.connected()
    for name, code in [("order:filter", 107), ("closed:filter", 103), ("nosuch:filter", 102)]:
        room = server.room(client, name, tags_filter=centrifuge.Filter.eq("a", "b"))
        await room.subscribe()
        equal((await room.seen.next("unsubscribed")).code, code, name)


@check
async def delta(server):
    """deltas, which no rule allows, are not given, and publications come whole"""
    room = await server.joined(await server.connected(), "order:delta", delta=centrifuge.DeltaType.FOSSIL)
    await server.publish("order:delta", {"n": 1}, {"n": 2})
    equal(await server.data(room, 2), [{"n": 1}, {"n": 2}])


@check
async def call_errors(server):
    """calls that are not possible or not allowed are answered with their errors"""
    client = await server.connected()
    for name in ["order:calls", "small:calls", "nohistory:calls", "live:calls", "ask:calls"]:
        await server.joined(client, name)
    await server.publish("order:calls", 1)
    since = StreamPosition(offset=1, epoch="another")
    start = StreamPosition(offset=0, epoch="")
    errors = {
        "publish where only the server may": client.publish("small:calls", server.out(1)),
        "publish to an unknown room": client.publish("nosuch:1", server.out(1)),
        "history where there is none": client.history("live:calls"),
        "history that members may not read": client.history("nohistory:calls"),
        "history of an unknown room": client.history("nosuch:1"),
        "history of another epoch": client.history("order:calls", limit=1, since=since),
        "history backwards from nothing": client.history("order:calls", limit=1, since=start, reverse=True),
        "history of a room not joined": client.history("order:another", limit=1),
        "presence where there is none": client.presence("live:calls"),
        "presence of an unknown room": client.presence("nosuch:1"),
        "presence of a room not joined": client.presence("order:another"),
        "presence_stats where there is none": client.presence_stats("small:calls"),
        "presence_stats of a room not joined": client.presence_stats("order:another"),
        "rpc": client.rpc("nosuch", server.out({})),
    }
    got = {what: await server.error(call) for what, call in errors.items()}
    equal(got, {
        "publish where only the server may": 103,
        "publish to an unknown room": 102,
        "history where there is none": 108,
        "history that members may not read": 103,
        "history of an unknown room": 102,
        "history of another epoch": 112,
        "history backwards from nothing": 107,
        "history of a room not joined": 103,
        "presence where there is none": 108,
        "presence of an unknown room": 102,
        "presence of a room not joined": 103,
        "presence_stats where there is none": 108,
        "presence_stats of a room not joined": 103,
        "rpc": 108,
    })
    equal(client.state, ClientState.CONNECTED)


# ---- publishing


@check
async def publish(server):
    """a client's publication comes to all members with the publisher's info"""
    ada, bob = await server.connected("ada"), await server.connected()
    rooms = [await server.joined(client, "order:publish") for client in (ada, bob)]
    await rooms[0].publish(server.out({"n": 1}))
    for room in rooms:
        publication = (await room.seen.next("publication")).pub
        equal([publication.offset, server.into(publication.data)], [1, {"n": 1}])
        info = publication.info
        equal([info.client, info.user, server.into(info.conn_info)], [ada.client_id, "ada", {"name": "ADA"}])
    kept = (await bob.history("order:publish", limit=1)).publications[0]
    equal([kept.offset, kept.info.user, kept.info.client], [1, "ada", ada.client_id])


@check
async def publish_in_order(server):
    """publications of several publishers come to all members in the same order, without holes"""
    clients = [await server.connected(user) for user in ("ada", "bob", "eve")]
    rooms = [await server.joined(client, "order:several") for client in clients]

    async def publish(room, client):
        for number in range(50):
            await room.publish(server.out([client.client_id, number]))

    await asyncio.gather(*map(publish, rooms, clients))
    orders = []
    for room in rooms:
        publications = [(await room.seen.next("publication")).pub for _ in range(150)]
        equal([publication.offset for publication in publications], list(range(1, 151)), "offsets")
        orders.append([server.into(publication.data) for publication in publications])
    holds(orders[0] == orders[1] == orders[2], "the orders differ")
    for client in clients:
        equal([number for publisher, number in orders[0] if publisher == client.client_id], list(range(50)))


@check
async def large_payloads(server):
    """large publications come whole; a frame of more than 64 KiB to the server ends the client"""
    client = await server.connected()
    room = await server.joined(client, "order:large")
    large = "x" * 900_000
    await server.publish("order:large", large)
    holds(await server.data(room, 1) == [large], "the large publication differs")
    await room.publish(server.out("y" * 60_000))
    holds(await server.data(room, 1) == ["y" * 60_000], "the client's own publication differs")
    try:
        await room.publish(server.out("z" * 70_000))
        raise Failed("70,000 bytes were taken")
    except centrifuge.CentrifugeError:
        pass
    await client.seen.next("connecting")
    # What the library makes of 1009; it comes back.
    equal((await client.seen.next("connecting")).code, 3, "the code for too large a message")


# ---- presence


@check
async def presence(server):
    """presence and its numbers follow the members"""
    ada, bob, again = [await server.connected(user) for user in ("ada", "bob", "ada")]
    rooms = [await server.joined(client, "order:presence") for client in (ada, bob, again)]
    presence = await rooms[0].presence()
    got = {key: (info.client, info.user) for key, info in presence.clients.items()}
    equal(got, {client.client_id: (client.client_id, user) for client, user in ((ada, "ada"), (bob, "bob"), (again, "ada"))})
    stats = await rooms[0].presence_stats()
    equal([stats.num_clients, stats.num_users], [3, 2])
    await rooms[1].unsubscribe()
    while (await rooms[0].seen.next("leave")).info.user != "bob":
        pass
    stats = await rooms[0].presence_stats()
    equal([stats.num_clients, stats.num_users], [2, 1])


@check
async def join_and_leave(server):
    """join and leave come with the info of who comes and goes, the own join too"""
    ada = await server.connected("ada")
    room = await server.joined(ada, "order:members")
    own = (await room.seen.next("join")).info
    equal([own.client, own.user, server.into(own.conn_info)], [ada.client_id, "ada", {"name": "ADA"}])
    bob = await server.connected("bob")
    token = server.token("bob", channel="order:members", info={"seat": 7})
    other = await server.joined(bob, "order:members", token=token)
    info = (await room.seen.next("join")).info
    equal([info.client, info.user], [bob.client_id, "bob"])
    equal([server.into(info.conn_info), server.into(info.chan_info)], [{"name": "BOB"}, {"seat": 7}])
    await other.unsubscribe()
    info = (await room.seen.next("leave")).info
    equal([info.client, info.user, server.into(info.chan_info)], [bob.client_id, "bob", {"seat": 7}])
    await other.subscribe()
    equal((await room.seen.next("join")).info.client, bob.client_id)
    await bob.disconnect()
    equal((await room.seen.next("leave")).info.client, bob.client_id)


@check
async def join_and_leave_asked_for(server):
    """join and leave come only to who asks for them, where the rule says so"""
    ada, eve = await server.connected("ada"), await server.connected("eve")
    asking = await server.joined(ada, "ask:members", join_leave=True)
    silent = await server.joined(eve, "ask:members")
    bob = await server.connected("bob")
    other = await server.joined(bob, "ask:members")
    while (await asking.seen.next("join")).info.user != "bob":
        pass
    await other.unsubscribe()
    equal((await asking.seen.next("leave")).info.user, "bob")
    await server.publish("ask:members", 1)
    equal(await server.data(silent, 1), [1])
    equal([silent.seen.count("join"), silent.seen.count("leave")], [0, 0])


# ---- history


@check
async def history(server):
    """history is read by limit, since and backwards"""
    client = await server.connected()
    room = await server.joined(client, "order:history")
    top = await room.history()
    equal([top.publications, top.offset], [[], 0])
    await server.publish("order:history", *range(1, 11))
    top = await room.history()
    equal([top.publications, top.offset, top.epoch], [[], 10, room.first.stream_position.epoch])

    async def offsets(limit, since=None, **options):
        position = None if since is None else StreamPosition(offset=since, epoch=top.epoch)
        page = await room.history(limit=limit, since=position, **options)
        equal([page.offset, page.epoch], [10, top.epoch])
        equal([server.into(publication.data) for publication in page.publications],
              [publication.offset for publication in page.publications], "data")
        return [publication.offset for publication in page.publications]

    equal(await offsets(3), [1, 2, 3])
    equal(await offsets(100), list(range(1, 11)))
    equal(await offsets(-1), list(range(1, 11)))
    equal(await offsets(3, 4), [5, 6, 7])
    equal(await offsets(3, 9), [10])
    equal(await offsets(3, 10), [])
    equal(await offsets(3, 99), [])
    equal(await offsets(3, reverse=True), [10, 9, 8])
    equal(await offsets(3, 5, reverse=True), [4, 3, 2])
    equal(await offsets(3, 1, reverse=True), [])


@check
async def history_pages(server):
    """a page of history has 300 publications at most"""
    client = await server.connected()
    room = await server.joined(client, "order:pages")
    await asyncio.gather(*(server.publish("order:pages", number) for number in range(310)))
    page = await room.history(limit=1000)
    equal([publication.offset for publication in page.publications], list(range(1, 301)))
    page = await room.history(limit=300, since=StreamPosition(offset=300, epoch=page.epoch))
    equal([publication.offset for publication in page.publications], list(range(301, 311)))


@check
async def history_trimmed(server):
    """history begins with the oldest that is left"""
    client = await server.connected()
    room = await server.joined(client, "small:trimmed")
    await server.publish("small:trimmed", *range(1, 16))
    page = await room.history(limit=100)
    equal([publication.offset for publication in page.publications], list(range(6, 16)))
    page = await room.history(limit=2, since=StreamPosition(offset=2, epoch=page.epoch))
    equal([publication.offset for publication in page.publications], [6, 7])


# ---- lost connections


async def cut(server, client, code, reason="away"):
    """Ends the connection; the client is held back until the result is set."""
    away = client.events.away = asyncio.Event()
    command = cent.DisconnectRequest(user="ada", client=client.client_id, disconnect=cent.Disconnect(code=code, reason=reason))
    await client.seen.next("connecting")
    await server.api.disconnect(command)
    context = await client.seen.next("connecting")
    equal(client.state, ClientState.CONNECTING)
    return away, context


@check
async def recovery(server):
    """what was published while away is recovered, in order, then the room goes on"""
    client = await server.connected("ada")
    room = await server.joined(client, "order:away")
    await server.publish("order:away", 1, 2, 3)
    equal(await server.data(room, 3), [1, 2, 3])
    before = client.client_id
    away, context = await cut(server, client, 4000)
    equal([context.code, context.reason], [4000, "away"])
    equal((await room.seen.next("subscribing")).code, 0)
    equal((await room.seen.next("subscribing")).code, 1)
    await server.publish("order:away", 4, 5, 6)
    away.set()
    context = await room.seen.next("subscribed")
    equal([context.was_recovering, context.recovered, context.stream_position.offset], [True, True, 3])
    await server.publish("order:away", 7)
    publications = [(await room.seen.next("publication")).pub for _ in range(4)]
    equal([publication.offset for publication in publications], [4, 5, 6, 7])
    equal([server.into(publication.data) for publication in publications], [4, 5, 6, 7])
    equal(room.seen.count("publication"), 0, "publications left over")
    holds(client.client_id != before, "the client's id is the same")


@check
async def recovery_of_nothing(server):
    """a member that missed nothing is told so"""
    client = await server.connected("ada")
    room = await server.joined(client, "order:nothing")
    away, _ = await cut(server, client, 3001)
    away.set()
    context = await room.seen.next("subscribed")
    equal([context.was_recovering, context.recovered, context.stream_position.offset], [True, True, 0])


@check
async def recovery_not_possible(server):
    """a member that missed more than is kept is told so, and joins at the top"""
    client = await server.connected("ada")
    room = await server.joined(client, "small:gap")
    await server.publish("small:gap", 1)
    equal(await server.data(room, 1), [1])
    away, _ = await cut(server, client, 4000)
    await server.publish("small:gap", *range(2, 17))
    away.set()
    context = await room.seen.next("subscribed")
    equal([context.was_recovering, context.recovered, context.stream_position.offset], [True, False, 16])
    await server.publish("small:gap", 17)
    equal((await room.seen.next("publication")).pub.offset, 17)


@check
async def recovery_of_removed(server):
    """a member whose missed publications were removed is told so"""
    client = await server.connected("ada")
    room = await server.joined(client, "order:removed")
    away, _ = await cut(server, client, 4000)
    await server.publish("order:removed", 1)
    await server.api.history_remove(cent.HistoryRemoveRequest(channel="order:removed"))
    away.set()
    context = await room.seen.next("subscribed")
    equal([context.was_recovering, context.recovered, context.stream_position.offset], [True, False, 1])
    equal(context.stream_position.epoch, room.first.stream_position.epoch)


@check
async def recovery_limit(server):
    """300 missed publications are recovered, 301 are not"""
    client = await server.connected("ada")
    rooms = [await server.joined(client, name) for name in ("order:300", "order:301")]
    away, _ = await cut(server, client, 4000)
    await asyncio.gather(*(server.publish("order:300", number) for number in range(300)))
    await asyncio.gather(*(server.publish("order:301", number) for number in range(301)))
    away.set()
    contexts = [await room.seen.next("subscribed") for room in rooms]
    equal([(context.recovered, context.stream_position.offset) for context in contexts], [(True, 0), (False, 301)])
    equal([(await rooms[0].seen.next("publication")).pub.offset for _ in range(300)], list(range(1, 301)))
    equal(rooms[1].seen.count("publication"), 0)


@check
async def nothing_lost_nothing_twice(server):
    """a connection cut again and again while publications go on loses none and doubles none"""
    client = await server.connected("ada")
    room = await server.joined(client, "order:again")

    async def publish():
        for number in range(1, 301):
            await server.publish("order:again", number)

    publisher = asyncio.create_task(publish())
    got = []
    try:
        for code in (3001, 4000, 4499, 3012, 100):
            got += await server.data(room, 40)
            request = cent.DisconnectRequest(user="ada", disconnect=cent.Disconnect(code=code, reason=""))
            await server.api.disconnect(request)
            await client.seen.next("connected")
        await publisher
    finally:
        publisher.cancel()
    got += await server.data(room, 300 - len(got))
    equal(got, list(range(1, 301)))
    equal(room.seen.count("publication"), 0, "publications left over")


@check
async def state_read_anew(server):
    """who asks for it is refused with 112 when nothing can be recovered, and reads the state anew"""
    client = await server.connected("ada")
    asked = []

    async def get_state(channel):
        page = await server.api.history(cent.HistoryRequest(channel=channel))
        asked.append(page.offset)
        return StreamPosition(offset=page.offset, epoch=page.epoch)

    await server.publish("small:state", 1)
    room = await server.joined(client, "small:state", get_state=get_state)
    equal([room.first.was_recovering, room.first.recovered], [True, True])
    away, _ = await cut(server, client, 4000)
    await server.publish("small:state", *range(2, 22))
    away.set()
    context = await room.seen.next("subscribed")
    equal([context.recovered, context.stream_position.offset, asked], [True, 21, [1, 21]])


@check
async def temporary_codes(server):
    """a temporary code lets the client come back"""
    for code, reason in [(3001, "a"), (3499, "b"), (4000, ""), (4499, "ä" * 61)]:
        client = await server.connected("ada")
        away, context = await cut(server, client, code, reason)
        equal([context.code, context.reason], [code, reason])
        away.set()
        await client.seen.next("connected")
        await client.disconnect()


@check
async def codes_without_close_frame(server):
    """3000, and a code or reason that a close frame cannot carry, cut the connection"""
    for code, reason in [(3000, "a"), (100, "a"), (2999, ""), (5000, ""), (4000, "x" * 124)]:
        client = await server.connected("ada")
        away, context = await cut(server, client, code, reason)
        equal([context.code, context.reason], [1, "transport closed"], f"after {code}")
        away.set()
        await client.seen.next("connected")
        await client.disconnect()


@check
async def terminal_codes(server):
    """a terminal code ends the client; 3503 is the usual one"""
    for disconnect, code, reason in [
        (None, 3503, "force disconnect"),
        (cent.Disconnect(code=3500, reason="x"), 3500, "x"),
        (cent.Disconnect(code=3999, reason=""), 3999, ""),
        (cent.Disconnect(code=4500, reason="bye"), 4500, "bye"),
        (cent.Disconnect(code=4999, reason="x" * 123), 4999, "x" * 123),
    ]:
        client = await server.connected("ada")
        room = await server.joined(client, "order:terminal")
        await server.api.disconnect(cent.DisconnectRequest(user="ada", disconnect=disconnect))
        context = await client.seen.next("disconnected")
        equal([context.code, context.reason], [code, reason])
        equal([client.state, room.state], [ClientState.DISCONNECTED, SubscriptionState.SUBSCRIBING])
        # A client that is told to may connect again, and its rooms come with it.
        await room.seen.next("subscribing")
        await client.connect()
        equal((await room.seen.next("subscribed")).was_recovering, True)
        await client.disconnect()


@check
async def state_invalidated(server):
    """after 3014 the client asks for a new token and recovers nothing"""
    asked = []

    async def get_token():
        asked.append(len(asked))
        return server.token("ada")

    client = await server.connected(get_token=get_token)
    room = await server.joined(client, "order:invalidated")
    await server.publish("order:invalidated", 1)
    equal(await server.data(room, 1), [1])
    away, context = await cut(server, client, 3014, "state invalidated")
    equal(context.code, 3014)
    away.set()
    context = await room.seen.next("subscribed")
    equal([context.was_recovering, context.recovered, context.stream_position.offset], [True, False, 1])
    equal(context.stream_position.epoch, room.first.stream_position.epoch)
    equal(len(asked), 2, "tokens asked for")


@check
async def client_disconnects(server):
    """a client that disconnects is gone at once"""
    client = await server.connected("ada")
    watching = await server.joined(await server.connected("bob"), "order:gone")
    await server.joined(client, "order:gone")
    await client.disconnect()
    equal((await client.seen.next("disconnected")).code, 0)
    equal((await watching.seen.next("leave")).info.user, "ada")
    stats = await server.api.presence_stats(cent.PresenceStatsRequest(channel="order:gone"))
    equal([stats.num_clients, stats.num_users], [1, 1])


# ---- leaving


@check
async def unsubscribe(server):
    """who leaves gets nothing more, and may join again"""
    client, watcher = await server.connected(), await server.connected()
    room = await server.joined(client, "order:leaving")
    watching = await server.joined(watcher, "order:leaving")
    await room.unsubscribe()
    context = await room.seen.next("unsubscribed")
    equal([context.code, context.reason], [0, "unsubscribe called"])
    while (await watching.seen.next("leave")).info.client != client.client_id:
        pass
    await server.publish("order:leaving", 1)
    equal(await server.data(watching, 1), [1])
    await room.subscribe()
    context = await room.seen.next("subscribed")
    # The library recovers from where it left.
    equal([context.was_recovering, context.recovered], [True, True])
    equal(await server.data(room, 1), [1])


@check
async def server_unsubscribes(server):
    """the server takes a member out with 2000"""
    client = await server.connected("ada")
    rooms = [await server.joined(client, name) for name in ("order:kicked", "order:kept")]
    await server.api.unsubscribe(cent.UnsubscribeRequest(user="ada", channel="order:kicked"))
    context = await rooms[0].seen.next("unsubscribed")
    equal([context.code, context.reason], [2000, "server unsubscribe"])
    equal([rooms[0].state, rooms[1].state], [SubscriptionState.UNSUBSCRIBED, SubscriptionState.SUBSCRIBED])
    await server.publish("order:kicked", 1)
    await server.publish("order:kept", 2)
    equal(await server.data(rooms[1], 1), [2])
    equal(rooms[0].seen.count("publication"), 0)
    await rooms[0].subscribe()
    equal(await server.data(rooms[0], 1), [1])


# ---- tokens that end


@alongside
async def connection_refresh(server):
    """a connection is refreshed again and again, and pinged meanwhile"""
    lives = [2, 2, 2, 600]
    asked = asyncio.Event()

    async def get_token():
        token = server.token("carl", life=lives.pop(0))
        if not lives:
            asked.set()
        return token

    # Without a ping for 5 seconds this client would connect anew.
    client = await server.connected(get_token=get_token, max_server_ping_delay=3.0)
    async with asyncio.timeout(20):
        await asked.wait()
    room = await server.joined(client, "order:refreshed")
    await room.publish(server.out(1))
    equal(await server.data(room, 1), [1])
    equal([(await client.seen.next("connecting")).code, client.seen.count("connecting"), client.seen.count("error")], [0, 0, 0])


@alongside
async def connection_refresh_refused(server):
    """a refresh with a foreign token ends the client with 3500, with an expired one it comes back after 3005"""
    given = [server.token("dora", life=2), server.token("bob", life=600)]

    async def get_token():
        return given.pop(0)

    foreign = await server.connected(get_token=get_token)
    late = [server.token("dora", life=2), server.token("dora", life=-5), server.token("dora", life=600)]

    async def get_late_token():
        return late.pop(0)

    expired = await server.connected(get_token=get_late_token)
    context = await foreign.seen.next("disconnected")
    equal([context.code, context.reason], [3500, "invalid token"])
    await expired.seen.next("connecting")
    context = await expired.seen.next("connecting")
    equal([context.code, context.reason], [3005, "connection expired"])
    await expired.seen.next("connected")
    equal(late, [])


@alongside
async def subscription_refresh(server):
    """a subscription is refreshed again and again"""
    lives = [2, 2, 600]
    asked = asyncio.Event()

    async def get_token(channel):
        token = server.token("emil", life=lives.pop(0), channel=channel)
        if not lives:
            asked.set()
        return token

    client = await server.connected("emil")
    room = await server.joined(client, "$order:refreshed", get_token=get_token)
    async with asyncio.timeout(20):
        await asked.wait()
    await room.publish(server.out(1))
    equal(await server.data(room, 1), [1])
    equal([room.seen.count("error"), room.seen.count("subscribing"), client.seen.count("error")], [0, 1, 0])


@alongside
async def subscription_refresh_refused(server):
    """a subscription refreshed with a foreign token ends the client with 3500, with an expired one it comes back after 3006"""
    foreign, expired = await server.connected("fay"), await server.connected("fay")
    given = [server.token("fay", life=2, channel="$order:foreign"), server.token("fay", life=600, channel="$order:other")]
    late = [server.token("fay", life=life, channel="$order:late") for life in (2, -5, 600)]

    async def get_token(channel):
        return (given if channel == "$order:foreign" else late).pop(0)

    await server.joined(foreign, "$order:foreign", get_token=get_token)
    room = await server.joined(expired, "$order:late", get_token=get_token)
    context = await foreign.seen.next("disconnected")
    equal([context.code, context.reason], [3500, "invalid token"])
    await expired.seen.next("connecting")
    context = await expired.seen.next("connecting")
    equal([context.code, context.reason], [3006, "subscription expired"])
    equal((await room.seen.next("subscribed")).recovered, True)
    equal(late, [])


@alongside
async def not_refreshed(server):
    """a connection that is not refreshed ends with 3005, a subscription with 2501, after a grace"""
    lasting = await server.connected("kim")
    room = await server.joined(lasting, "$order:ends", token=server.token("kim", life=2, channel="$order:ends"))
    client = await server.connected(token=server.token("kim", life=2))
    await client.seen.next("connecting")
    context = await client.seen.next("connecting")
    equal([context.code, context.reason], [3005, "connection expired"])
    equal((await client.seen.next("error")).error.code, 109)
    equal((await client.seen.next("disconnected")).code, 1)
    await room.seen.next("subscribing")
    context = await room.seen.next("subscribing")
    equal([context.code, context.reason], [2501, "subscription expired"])
    # The library has no other token.
    equal((await room.seen.next("unsubscribed")).code, 1)
    equal(lasting.state, ClientState.CONNECTED)


@alongside
async def expire_at(server):
    """expire_at in a token sets the end of the connection or subscription, whatever the token's own end is"""
    asked = Seen()

    async def get_token(channel="connection"):
        claims = {} if channel == "connection" else {"channel": channel}
        if asked.count(channel) == 0 and channel != "$order:never":
            claims["expire_at"] = int(time.time()) + 2
        await asked.put(channel, None)
        if channel == "$order:never":
            return server.token("gus", life=2, expire_at=0, **claims)
        return server.token("gus", life=600, **claims)

    client = await server.connected(get_token=get_token)
    never = await server.joined(client, "$order:never", get_token=get_token)
    room = await server.joined(client, "$order:at", get_token=get_token)
    for name in ("connection", "$order:at"):
        await asked.reaches(name, 2)
    for member in (room, never):
        await member.publish(server.out(1))
        equal(await server.data(member, 1), [1])
    equal([asked.count(name) for name in ("connection", "$order:at", "$order:never")], [2, 2, 1], "tokens asked for")
    equal([client.seen.count("error"), room.seen.count("error"), never.seen.count("unsubscribed")], [0, 0, 0])


@alongside
async def subscription_refresh_too_late(server):
    """a subscription refreshed with an expire_at that is over ends with 3006, then 110"""
    client = await server.connected("leo")
    given = [server.token("leo", life=2, channel="$order:tl"), server.token("leo", channel="$order:tl", expire_at=1)]

    async def get_token(_):
        return given.pop(0)

    room = await server.joined(client, "$order:tl", get_token=get_token)
    await client.seen.next("connecting")
    equal((await client.seen.next("connecting")).code, 3006)
    equal((await room.seen.next("unsubscribed")).code, 110)


@check
async def server_expires_a_connection(server):
    """a connection that the server lets expire ends with 3005"""
    client = await server.connected("ada")
    await server.api.refresh(cent.RefreshRequest(user="ada", expired=True))
    await client.seen.next("connecting")
    context = await client.seen.next("connecting")
    equal([context.code, context.reason], [3005, "connection expired"])
    await client.seen.next("connected")


# ---- subscriptions of the server


@check
async def server_side(server):
    """rooms of the token are joined on connecting, with their info and data, and recovered after a drop"""
    subs = {"order:side": {"info": {"seat": 1}, "data": {"hello": 2}}}
    client = await server.connected(token=server.token("ada", subs=subs))
    context = await client.seen.next("subscribed")
    equal([context.channel, context.recoverable, context.positioned], ["order:side", True, True])
    equal([context.was_recovering, context.recovered, server.into(context.data)], [False, False, {"hello": 2}])
    equal([context.stream_position.offset, len(context.stream_position.epoch)], [0, 8])
    info = (await client.seen.next("join")).info
    equal([info.client, server.into(info.chan_info)], [client.client_id, {"seat": 1}])
    await server.publish("order:side", 1)
    context = await client.seen.next("publication")
    equal([context.channel, context.pub.offset, server.into(context.pub.data)], ["order:side", 1, 1])
    away, _ = await cut(server, client, 4000)
    equal((await client.seen.next("subscribing")).channel, "order:side")
    await server.publish("order:side", 2, 3)
    away.set()
    context = await client.seen.next("subscribed")
    equal([context.was_recovering, context.recovered, context.stream_position.offset], [True, True, 1])
    equal([server.into((await client.seen.next("publication")).pub.data) for _ in range(2)], [2, 3])
    equal([info.user for info in (await client.presence("order:side")).clients.values()], ["ada"])


@check
async def server_side_by_list(server):
    """rooms listed in the token are joined on connecting"""
    client = await server.connected(token=server.token("ada", channels=["order:l1", "live:l2"]))
    got = [await client.seen.next("subscribed") for _ in range(2)]
    equal(sorted((context.channel, context.recoverable) for context in got), [("live:l2", False), ("order:l1", True)])
    await server.publish("live:l2", "x")
    context = await client.seen.next("publication")
    equal([context.channel, context.pub.offset, server.into(context.pub.data)], ["live:l2", 0, "x"])


@check
async def server_subscribes_later(server):
    """the server joins and leaves a room for a connected client"""
    client = await server.connected("ada")
    await server.publish("order:later", 1)
    await server.api.subscribe(cent.SubscribeRequest(user="ada", channel="order:later", data={"n": 1}))
    context = await client.seen.next("subscribed")
    equal([context.channel, context.recoverable, context.positioned], ["order:later", True, True])
    equal([context.stream_position.offset, server.into(context.data)], [1, {"n": 1}])
    await server.publish("order:later", 2)
    equal((await client.seen.next("publication")).pub.offset, 2)
    await server.api.unsubscribe(cent.UnsubscribeRequest(user="ada", channel="order:later"))
    equal((await client.seen.next("unsubscribed")).channel, "order:later")
    equal((await client.seen.next("connecting")).code, 0)
    equal(client.seen.count("connecting"), 0)


@check
async def server_side_gone(server):
    """a room that is no longer in the token is left on the next connection"""
    given = [server.token("ada", channels=["order:g1", "order:g2"]), server.token("ada", channels=["order:g2"])]

    async def get_token():
        return given.pop(0)

    client = await server.connected(get_token=get_token)
    equal(sorted([(await client.seen.next("subscribed")).channel for _ in range(2)]), ["order:g1", "order:g2"])
    await client.disconnect()
    client.set_token("")
    await client.connect()
    # The room was public and the client asks for it by its position, so the server keeps it.
    equal(sorted([(await client.seen.next("subscribed")).channel for _ in range(2)]), ["order:g1", "order:g2"])


# ---- payloads that are not JSON


@check
async def binary(server):
    """bytes that are not JSON come unchanged to a protobuf client and end a JSON client with 3506"""
    payloads = [b"\x00\x01\x02\xff", b"{", b"\n\n", bytes(range(256)), b"\xed\xa0\x80"]
    client = await server.connected("ada")
    room = await server.joined(client, "order:binary")
    if server.protobuf:
        await room.publish(payloads[0])
        for payload in payloads[1:]:
            request = cent.PublishRequest(channel="order:binary", data=None, b64data=base64.b64encode(payload).decode())
            await server.api.publish(request)
        got = [(await room.seen.next("publication")).pub for _ in payloads]
        equal([publication.data for publication in got], payloads)
        page = await room.history(limit=10)
        equal([publication.data for publication in page.publications], payloads, "history")
        await room.unsubscribe()
        request = cent.PublishRequest(channel="order:binary", data=None, b64data="AP8=")
        await server.api.publish(request)
        await room.subscribe()
        equal((await room.seen.next("publication")).pub.data, b"\x00\xff", "recovered")
    else:
        request = cent.PublishRequest(channel="order:binary", data=None, b64data="AP8=")
        await server.api.publish(request)
        context = await client.seen.next("disconnected")
        equal([context.code, context.reason], [3506, "inappropriate protocol"])
        await client.connect()
        context = await client.seen.next("disconnected")
        equal(context.code, 3506, "the code after recovery")


@check
async def empty_payload(server):
    """an empty payload of a protobuf client is refused"""
    client = await server.connected()
    room = await server.joined(client, "order:empty")
    if server.protobuf:
        equal(await server.error(room.publish(b"")), 107)
    else:
        await room.publish(None)
        equal(await server.data(room, 1), [None])


sys.exit(asyncio.run(run(*sys.argv[1:])))
