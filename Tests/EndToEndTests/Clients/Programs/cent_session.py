"""What a server written with PyPI's `cent` can expect of the server API, as it sees it and as connected clients see it.

    cent_session.py json|protobuf WEBSOCKET_URL API_URL API_KEY TOKEN_SECRET

The form is that of the connected clients. The server must have just been started, with the rooms of centrifugo.json beside this
file; each check has rooms of its own.
"""

import asyncio
import base64
import sys
import time

import cent

from checks import Failed, alongside, check, equal, holds, run


def plain(server):
    """The client of cent that waits for its answers."""
    return cent.Client(server.api_url, server.key)


# ---- publish and broadcast


@check
async def publish(server):
    """publish gives offset and epoch where history is kept, and nothing else"""
    client = plain(server)
    first = client.publish(cent.PublishRequest(channel="order:p", data={"n": 1}))
    second = client.publish(cent.PublishRequest(channel="order:p", data={"n": 2}))
    equal([type(first), first.offset, len(first.epoch)], [cent.PublishResult, 1, 8])
    equal([second.offset, second.epoch], [2, first.epoch])
    other = client.publish(cent.PublishRequest(channel="order:q", data=1))
    equal(other.offset, 1)
    holds(other.epoch != first.epoch, "two rooms have the same epoch")
    for name in ("live:p", "plain"):
        result = client.publish(cent.PublishRequest(channel=name, data=1))
        equal([result.offset, result.epoch, result.model_extra], [0, "", {}], name)


@check
async def publish_kinds(server):
    """published data of every JSON kind, tags and bytes reach the members and the history"""
    room = await server.joined(await server.connected(), "order:kinds")
    values = [0, -1.5, 1e300, 12345678901234567890, "ä\"\\\n", True, False, [], {}, [None, {"b": 1, "a": [2]}]]
    for value in values:
        await server.api.publish(cent.PublishRequest(channel="order:kinds", data=value, tags={"event": "e", "x": ""}))
    text = base64.b64encode(b'{"from": "bytes"}').decode()
    await server.api.publish(cent.PublishRequest(channel="order:kinds", data=None, b64data=text))
    equal(await server.data(room, len(values) + 1), values + [{"from": "bytes"}])
    page = await server.api.history(cent.HistoryRequest(channel="order:kinds", limit=100))
    equal([publication.data for publication in page.publications], values + [{"from": "bytes"}], "history")
    equal([publication.tags for publication in page.publications], [{"event": "e", "x": ""}] * len(values) + [None], "tags")
    equal([publication.info for publication in page.publications], [None] * (len(values) + 1), "info")


@check
async def publish_again(server):
    """a repeated idempotency_key gives the first result and publishes nothing"""
    room = await server.joined(await server.connected(), "order:again")
    results = [
        await server.api.publish(cent.PublishRequest(channel="order:again", data=data, idempotency_key=key))
        for data, key in [(1, "a"), (2, "a"), (3, "b"), (4, "a")]
    ]
    equal([result.offset for result in results], [1, 1, 2, 1])
    equal(len({result.epoch for result in results}), 1)
    await server.api.publish(cent.PublishRequest(channel="order:again", data=5))
    equal(await server.data(room, 3), [1, 3, 5])
    other = await server.api.publish(cent.PublishRequest(channel="order:elsewhere", data=6, idempotency_key="a"))
    page = await server.api.history(cent.HistoryRequest(channel="order:elsewhere", limit=1))
    equal([other.offset, page.publications[0].data], [1, 6])


@check
async def publish_without_history(server):
    """skip_history sends to the members and keeps nothing"""
    room = await server.joined(await server.connected(), "order:skip")
    await server.publish("order:skip", 1)
    result = await server.api.publish(cent.PublishRequest(channel="order:skip", data=2, skip_history=True))
    equal([result.offset, result.epoch], [0, ""])
    await server.publish("order:skip", 3)
    got = [(await room.seen.next("publication")).pub for _ in range(3)]
    equal([(publication.offset, server.into(publication.data)) for publication in got], [(1, 1), (0, 2), (2, 3)])
    page = await server.api.history(cent.HistoryRequest(channel="order:skip", limit=10))
    equal([publication.data for publication in page.publications], [1, 3])


@check
async def broadcast(server):
    """broadcast answers for each room, in order, errors among them"""
    room = await server.joined(await server.connected(), "order:b1")
    names = ["order:b1", "nosuch:b", "live:b", "order:b2", "order:b1", ""]
    request = cent.BroadcastRequest(channels=names, data={"n": 1}, tags={"a": "b"})
    result = await server.api.broadcast(request)
    equal(len(result.responses), 6)
    equal([result.responses[5].error.code, result.responses[5].error.message], [107, "bad request"])
    refused = result.responses[1]
    equal([refused.error.code, refused.error.message, refused.result], [102, "unknown channel", None])
    equal([result.responses[place].error for place in (0, 2, 3, 4)], [None] * 4)
    # The rooms are served beside each other: which of the two is first is open.
    equal(sorted(result.responses[place].result.offset for place in (0, 4)), [1, 2])
    equal([result.responses[place].result.offset for place in (2, 3)], [0, 1])
    equal(len({result.responses[place].result.epoch for place in (0, 3)}), 2)
    got = [(await room.seen.next("publication")).pub for _ in range(2)]
    equal([(publication.offset, publication.tags) for publication in got], [(1, {"a": "b"}), (2, {"a": "b"})])


@check
async def broadcast_again(server):
    """a repeated idempotency_key of a broadcast counts for each room"""
    request = cent.BroadcastRequest(channels=["order:bi1", "order:bi2"], data=1, idempotency_key="k")
    first = await server.api.broadcast(request)
    await server.publish("order:bi1", 2)
    second = await server.api.broadcast(request)
    equal([response.result.offset for response in second.responses], [1, 1])
    equal([response.result.epoch for response in second.responses], [response.result.epoch for response in first.responses])
    top = await server.api.history(cent.HistoryRequest(channel="order:bi2"))
    equal(top.offset, 1)


@check
async def publish_errors(server):
    """publish is refused without a room or data, and in rooms that no rule knows"""
    errors = {}
    for what, request in {
        "unknown": cent.PublishRequest(channel="nosuch:1", data=1),
        "no room": cent.PublishRequest(channel="", data=1),
        "no data": cent.PublishRequest(channel="order:none", data=None),
        "no base64": cent.PublishRequest(channel="order:none", data=None, b64data="?"),
        "rooms": cent.BroadcastRequest(channels=[], data=1),
    }.items():
        call = server.api.broadcast(request) if what == "rooms" else server.api.publish(request)
        errors[what] = await server.error(call)
    equal(errors, {"unknown": 102, "no room": 107, "no data": 107, "no base64": 107, "rooms": 107})


# ---- history


@check
async def history(server):
    """history is read by limit, since and backwards; without a limit only the position"""
    client = plain(server)
    empty = client.history(cent.HistoryRequest(channel="order:h", limit=10))
    equal([empty.publications, empty.offset, len(empty.epoch)], [[], 0, 8])
    for number in range(1, 11):
        client.publish(cent.PublishRequest(channel="order:h", data={"n": number}))

    def offsets(limit=None, since=None, epoch=empty.epoch, **options):
        position = None if since is None else cent.StreamPosition(offset=since, epoch=epoch)
        page = client.history(cent.HistoryRequest(channel="order:h", limit=limit, since=position, **options))
        equal([page.offset, page.epoch], [10, empty.epoch])
        equal([publication.data for publication in page.publications], [{"n": each.offset} for each in page.publications])
        return [publication.offset for publication in page.publications]

    equal(offsets(), [])
    equal(offsets(0), [])
    equal(offsets(3), [1, 2, 3])
    equal(offsets(-1), list(range(1, 11)))
    equal(offsets(1000), list(range(1, 11)))
    equal(offsets(2, 5), [6, 7])
    equal(offsets(2, 5, epoch=""), [6, 7])
    equal(offsets(5, 10), [])
    equal(offsets(5, 50), [])
    equal(offsets(3, reverse=True), [10, 9, 8])
    equal(offsets(2, 5, reverse=True), [4, 3])
    equal(offsets(-1, 4, reverse=True), [3, 2, 1])


@check
async def history_is_not_clamped(server):
    """history has more than 300 publications a page for the server"""
    await asyncio.gather(*(server.publish("order:long", number) for number in range(320)))
    for limit, count in [(1000, 320), (-1, 320), (310, 310)]:
        page = await server.api.history(cent.HistoryRequest(channel="order:long", limit=limit))
        equal([publication.offset for publication in page.publications], list(range(1, count + 1)))


@check
async def history_errors(server):
    """history is refused for another epoch, without a rule and where none is kept"""
    await server.publish("order:he", 1)
    foreign, start = cent.StreamPosition(offset=0, epoch="foreign"), cent.StreamPosition(offset=0, epoch="")
    errors = {}
    for what, request in {
        "epoch": cent.HistoryRequest(channel="order:he", limit=1, since=foreign),
        "backwards from nothing": cent.HistoryRequest(channel="order:he", limit=1, since=start, reverse=True),
        "none kept": cent.HistoryRequest(channel="live:he", limit=1),
        "unknown": cent.HistoryRequest(channel="nosuch:1", limit=1),
        "no room": cent.HistoryRequest(channel="", limit=1),
    }.items():
        errors[what] = await server.error(server.api.history(request))
    for name in ("live:he", "nosuch:1", ""):
        request = cent.HistoryRemoveRequest(channel=name)
        errors[f"remove {name}"] = await server.error(server.api.history_remove(request))
    equal(errors, {"epoch": 112, "backwards from nothing": 100, "none kept": 108, "unknown": 102, "no room": 107,
                   "remove live:he": 108, "remove nosuch:1": 102, "remove ": 107})


@check
async def history_remove(server):
    """history_remove empties a room and keeps its position"""
    client = plain(server)
    for number in range(3):
        client.publish(cent.PublishRequest(channel="order:hr", data=number))
    before = client.history(cent.HistoryRequest(channel="order:hr", limit=10))
    equal(len(before.publications), 3)
    equal(type(client.history_remove(cent.HistoryRemoveRequest(channel="order:hr"))), cent.HistoryRemoveResult)
    after = client.history(cent.HistoryRequest(channel="order:hr", limit=10))
    equal([after.publications, after.offset, after.epoch], [[], 3, before.epoch])
    result = client.publish(cent.PublishRequest(channel="order:hr", data=4))
    equal([result.offset, result.epoch], [4, before.epoch])
    client.history_remove(cent.HistoryRemoveRequest(channel="order:never"))


# ---- who is there


@check
async def presence(server):
    """presence and presence_stats tell who is in a room, with the info of both tokens"""
    ada, bob = await server.connected("ada"), await server.connected("bob")
    again = await server.connected("ada")
    await server.joined(ada, "order:pr", token=server.token("ada", channel="order:pr", info={"seat": 1}))
    await server.joined(bob, "order:pr")
    await server.joined(again, "order:pr")
    client = plain(server)
    presence = client.presence(cent.PresenceRequest(channel="order:pr")).presence
    got = {key: [info.client, info.user, info.conn_info, info.chan_info] for key, info in presence.items()}
    equal(got, {
        ada.client_id: [ada.client_id, "ada", {"name": "ADA"}, {"seat": 1}],
        bob.client_id: [bob.client_id, "bob", {"name": "BOB"}, None],
        again.client_id: [again.client_id, "ada", {"name": "ADA"}, None],
    })
    stats = client.presence_stats(cent.PresenceStatsRequest(channel="order:pr"))
    equal([type(stats), stats.num_clients, stats.num_users], [cent.PresenceStatsResult, 3, 2])
    equal(client.presence(cent.PresenceRequest(channel="order:nobody")).presence, {})
    stats = client.presence_stats(cent.PresenceStatsRequest(channel="order:nobody"))
    equal([stats.num_clients, stats.num_users], [0, 0])


@check
async def presence_errors(server):
    """presence is refused where none is kept and without a rule"""
    for name, code in [("live:pe", 108), ("nosuch:1", 102), ("", 107)]:
        equal(await server.error(server.api.presence(cent.PresenceRequest(channel=name))), code, name)
        equal(await server.error(server.api.presence_stats(cent.PresenceStatsRequest(channel=name))), code, name)


@check
async def channels(server):
    """channels lists the rooms with members that fit a pattern"""
    clients = [await server.connected() for _ in range(2)]
    for name in ("live:ch:1", "order:ch:2"):
        await server.joined(clients[0], name)
    await server.joined(clients[1], "live:ch:1")
    await server.publish("order:ch:3", 1)

    async def named(pattern):
        result = await server.api.channels(cent.ChannelsRequest(pattern=pattern))
        return {name: info.num_clients for name, info in result.channels.items()}

    equal(await named("*:ch:*"), {"live:ch:1": 2, "order:ch:2": 1})
    equal(await named("live:ch:?"), {"live:ch:1": 2})
    equal(await named("{live,order}:ch:[12]"), {"live:ch:1": 2, "order:ch:2": 1})
    equal(await named("live:ch:1"), {"live:ch:1": 2})
    equal(await named("nosuch:*"), {})
    equal(await named("[!l]*:ch:*"), {"order:ch:2": 1})
    equal(await named("live\\:ch:1"), {"live:ch:1": 2})
    for pattern in ("[", "{live", "[b-a]"):
        equal(await server.error(server.api.channels(cent.ChannelsRequest(pattern=pattern))), 100, pattern)
    everything = await server.api.channels(cent.ChannelsRequest())
    equal(everything.channels["order:ch:2"].num_clients, 1)


@check
async def info(server):
    """info describes the one node"""
    client = await server.connected("ada")
    await server.joined(client, "live:info")
    nodes = plain(server).info(cent.InfoRequest()).nodes
    equal([len(nodes), type(nodes[0]), len(nodes[0].uid)], [1, cent.Node, 36])
    node = nodes[0]
    holds(node.name and node.version, "no name or no version")
    holds(node.uptime >= 0, "a negative uptime")
    equal(node.metrics.interval, 60.0)


# ---- what is done to connections


@check
async def disconnect(server):
    """disconnect ends all connections of a user but those on the whitelist"""
    first, second, third = [await server.connected("gina") for _ in range(3)]
    other = await server.connected("bob")
    result = plain(server).disconnect(cent.DisconnectRequest(user="gina", whitelist=[second.client_id]))
    equal(type(result), cent.DisconnectResult)
    for client in (first, third):
        context = await client.seen.next("disconnected")
        equal([context.code, context.reason], [3503, "force disconnect"])
    await server.joined(second, "live:wl")
    request = cent.DisconnectRequest(user="gina", client=second.client_id, disconnect=cent.Disconnect(code=4501, reason="out"))
    await server.api.disconnect(request)
    context = await second.seen.next("disconnected")
    equal([context.code, context.reason], [4501, "out"])
    await server.joined(other, "live:wl")
    await server.api.disconnect(cent.DisconnectRequest(user="nobody"))


@check
async def disconnect_foreign(server):
    """disconnect needs the user that the client has"""
    client = await server.connected("ada")
    await server.api.disconnect(cent.DisconnectRequest(user="bob", client=client.client_id))
    room = await server.joined(client, "live:df")
    await server.publish("live:df", 1)
    equal(await server.data(room, 1), [1])


@check
async def unsubscribe(server):
    """unsubscribe takes a user, or one client of it, out of a room"""
    first, second = [await server.connected("hans") for _ in range(2)]
    rooms = [await server.joined(client, "order:un") for client in (first, second)]
    request = cent.UnsubscribeRequest(user="hans", channel="order:un", client=first.client_id)
    equal(type(await server.api.unsubscribe(request)), cent.UnsubscribeResult)
    context = await rooms[0].seen.next("unsubscribed")
    equal([context.code, context.reason], [2000, "server unsubscribe"])
    stats = await server.api.presence_stats(cent.PresenceStatsRequest(channel="order:un"))
    equal(stats.num_clients, 1)
    await server.publish("order:un", 1)
    equal(await server.data(rooms[1], 1), [1])
    await server.api.unsubscribe(cent.UnsubscribeRequest(user="hans", channel="order:un"))
    equal((await rooms[1].seen.next("unsubscribed")).code, 2000)
    # A room nobody is in is no error.
    await server.api.unsubscribe(cent.UnsubscribeRequest(user="hans", channel="order:elsewhere"))


@check
async def subscribe(server):
    """subscribe puts a user into a room, with info, data, and what was missed"""
    client = await server.connected("ida")
    await server.publish("order:sub", 1, 2, 3)
    top = await server.api.history(cent.HistoryRequest(channel="order:sub"))
    request = cent.SubscribeRequest(
        user="ida",
        channel="order:sub",
        client=client.client_id,
        info={"seat": 1},
        data={"hello": 1},
        recover_since=cent.StreamPosition(offset=1, epoch=top.epoch),
    )
    equal(type(await server.api.subscribe(request)), cent.SubscribeResult)
    context = await client.seen.next("subscribed")
    equal([context.channel, context.recoverable, server.into(context.data)], ["order:sub", True, {"hello": 1}])
    info = (await server.api.presence(cent.PresenceRequest(channel="order:sub"))).presence[client.client_id]
    equal([info.user, info.chan_info], ["ida", {"seat": 1}])
    await server.publish("order:sub", 4)
    equal(server.into((await client.seen.next("publication")).pub.data), 4)


@check
async def subscribe_in_bytes(server):
    """subscribe takes info and data in base64"""
    client = await server.connected("ida")
    data, info = base64.b64encode(b'{"a":1}').decode(), base64.b64encode(b"[2]").decode()
    await server.api.subscribe(cent.SubscribeRequest(user="ida", channel="order:sb", b64data=data, b64info=info))
    equal(server.into((await client.seen.next("subscribed")).data), {"a": 1})
    presence = (await server.api.presence(cent.PresenceRequest(channel="order:sb"))).presence
    equal(presence[client.client_id].chan_info, [2])


@check
async def subscribe_with_override(server):
    """subscribe can change the room's rule for this member"""
    client = await server.connected("ida")
    on = cent.BoolValue(value=True)
    override = cent.ChannelOptionsOverride(force_positioning=on, force_recovery=on, presence=on)
    await server.api.subscribe(cent.SubscribeRequest(user="ida", channel="ask:so", override=override))
    context = await client.seen.next("subscribed")
    equal([context.recoverable, context.positioned], [True, True])
    off = cent.BoolValue(value=False)
    override = cent.ChannelOptionsOverride(force_positioning=off, force_recovery=off)
    await server.api.subscribe(cent.SubscribeRequest(user="ida", channel="order:so", override=override))
    context = await client.seen.next("subscribed")
    equal([context.channel, context.recoverable, context.positioned], ["order:so", False, False])


@check
async def subscribe_errors(server):
    """subscribe is refused without a room and in rooms that no rule knows; a user who is not there is no error"""
    await server.api.subscribe(cent.SubscribeRequest(user="nobody", channel="order:se"))
    # cent passes on what it does not know.
    over = cent.SubscribeRequest(user="kai", channel="order:se", expire_at=1)
    await server.api.subscribe(over)
    await server.connected("kai")
    equal(await server.error(server.api.subscribe(over)), 100, "the code for an end that is over")
    for name, code in [("nosuch:1", 102), ("", 107)]:
        equal(await server.error(server.api.subscribe(cent.SubscribeRequest(user="ada", channel=name))), code, name)


@alongside
async def refresh(server):
    """refresh moves the end of a connection, or ends it with 3005"""
    client = await server.connected("jan", token=server.token("jan", life=600))
    equal(type(plain(server).refresh(cent.RefreshRequest(user="jan", expire_at=int(time.time()) + 1200))), cent.RefreshResult)
    await server.joined(client, "live:re")
    await server.api.refresh(cent.RefreshRequest(user="jan", client=client.client_id, expired=True))
    await client.seen.next("connecting")
    context = await client.seen.next("connecting")
    equal([context.code, context.reason], [3005, "connection expired"])
    await client.seen.next("connected")
    await server.api.refresh(cent.RefreshRequest(user="nobody", expired=True))


# ---- batch


@check
async def batch(server):
    """batch answers each request in order, one after another and beside each other"""
    client = await server.connected("ada")
    await server.joined(client, "order:ba")
    requests = [
        cent.PublishRequest(channel="order:ba", data=1),
        cent.BroadcastRequest(channels=["order:ba", "order:bb"], data=2),
        cent.HistoryRequest(channel="order:bb", limit=1),
        cent.PresenceRequest(channel="order:ba"),
        cent.PresenceStatsRequest(channel="order:ba"),
        cent.ChannelsRequest(pattern="order:ba"),
        cent.InfoRequest(),
        cent.UnsubscribeRequest(user="nobody", channel="order:ba"),
        cent.SubscribeRequest(user="nobody", channel="order:ba"),
        cent.RefreshRequest(user="nobody"),
        cent.DisconnectRequest(user="nobody"),
        cent.HistoryRemoveRequest(channel="order:ba"),
        cent.HistoryRequest(channel="order:ba", limit=10),
    ]
    replies = (await server.api.batch(cent.BatchRequest(requests=requests))).replies
    equal([type(reply) for reply in replies], [type(request).__returning__ for request in requests])
    equal(replies[0].offset, 1)
    equal([response.result.offset for response in replies[1].responses], [2, 1])
    equal([publication.data for publication in replies[2].publications], [2])
    equal(list(replies[3].presence), [client.client_id])
    equal([replies[4].num_clients, replies[4].num_users], [1, 1])
    equal(replies[5].channels["order:ba"].num_clients, 1)
    equal(len(replies[6].nodes), 1)
    equal([replies[12].publications, replies[12].offset], [[], 2])
    requests = [cent.PublishRequest(channel=f"order:bp:{number}", data=number) for number in range(20)]
    replies = plain(server).batch(cent.BatchRequest(requests=requests, parallel=True)).replies
    equal([reply.offset for reply in replies], [1] * 20)
    equal(len({reply.epoch for reply in replies}), 20)


@check
async def batch_with_error(server):
    """an error among a batch stands in the place of its answer, which cent cannot read"""
    requests = [cent.PublishRequest(channel="order:be", data=1), cent.PublishRequest(channel="nosuch:1", data=1)]
    try:
        await server.api.batch(cent.BatchRequest(requests=requests))
        raise Failed("cent read an error in a batch")
    except KeyError as error:
        equal(error.args, ("publish",))
    top = await server.api.history(cent.HistoryRequest(channel="order:be"))
    equal(top.offset, 1)


# ---- keys and calls that are not there


@check
async def wrong_key(server):
    """a wrong key and none are refused"""
    for key in ("wrong", "", server.key + "x", server.key[:-1]):
        client = cent.Client(server.api_url, key)
        publication = cent.PublishRequest(channel="order:key", data=1)
        for call, request in ((client.info, cent.InfoRequest()), (client.publish, publication)):
            try:
                call(request)
                raise Failed(f"the key {key!r} was taken")
            except cent.CentUnauthorizedError:
                pass
    top = await server.api.history(cent.HistoryRequest(channel="order:key"))
    equal(top.offset, 0)


@check
async def unknown_calls(server):
    """calls of the paid edition are not found"""
    got = []
    for call in (
        lambda: server.api.connections(cent.ConnectionsRequest(user="ada", expression="")),
        lambda: server.api.block_user(cent.BlockUserRequest(user="ada")),
        lambda: server.api.device_list(cent.DeviceListRequest()),
    ):
        try:
            await call()
            got.append("answered")
        except cent.CentTransportError as error:
            got.append(error.status_code)
        except cent.CentApiResponseError as error:
            got.append(error.code)
    equal(got, [404, 404, 404])


@check
async def calls_beside_each_other(server):
    """hundreds of calls at once are answered, each with its own result"""
    results = await asyncio.gather(*(server.publish(f"order:many:{number % 20}", number) for number in range(400)))
    equal(sorted(result[0].offset for result in results), sorted(list(range(1, 21)) * 20))
    pages = await asyncio.gather(
        *(server.api.history(cent.HistoryRequest(channel=f"order:many:{number}", limit=-1)) for number in range(20))
    )
    equal(sorted(publication.data for page in pages for publication in page.publications), list(range(400)))


sys.exit(asyncio.run(run(*sys.argv[1:])))
