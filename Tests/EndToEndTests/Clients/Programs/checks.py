"""What the programs of this folder share: checks that run one after another, tokens, and clients whose events can be awaited."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import sys
import time
import traceback

import cent
import centrifuge

# No check may wait longer than this for anything.
DEADLINE = 15.0

_checks = []
_alongside = []


def check(function):
    """Adds a check: its name is the first line of its comment."""
    _checks.append(function)
    return function


def alongside(function):
    """Adds a check that has to wait for the server's clock: it runs beside the others, with users of its own."""
    _alongside.append(function)
    return function


class Failed(Exception):
    """Something is not as the server should have it."""


def equal(got, want, what="value"):
    if got != want:
        raise Failed(f"{what} is {got!r}, expected {want!r}")


def holds(condition, what):
    if not condition:
        raise Failed(what)


async def run(*arguments):
    """Runs all checks, prints `ok NAME` or `failed NAME: REASON` for each, then how many there were."""
    others = [asyncio.create_task(_try(function, arguments)) for function in _alongside]
    results = [await _try(function, arguments) for function in _checks] + await asyncio.gather(*others)
    failures = results.count(False)
    print(f"{len(results)} checks, {failures} failed", flush=True)
    return 1 if failures else 0


async def _try(function, arguments):
    name = function.__doc__.splitlines()[0]
    server = Server(*arguments)
    try:
        async with asyncio.timeout(3 * DEADLINE):
            await function(server)
        await server.close()
        print(f"ok {name}", flush=True)
        return True
    except Exception as error:
        place = os.path.abspath(sys.argv[0])
        lines = [str(frame.lineno) for frame in traceback.extract_tb(error.__traceback__) if frame.filename == place]
        reason = (str(error) or type(error).__name__)[:1000]
        print(f"failed {name}: {reason} (line {', '.join(lines)})", flush=True)
        await server.close()
        return False


class Server:
    """The server under test, as one check sees it."""

    def __init__(self, form, url, api_url, key, secret):
        self.protobuf = form == "protobuf"
        self.url, self.api_url, self.key, self.secret = url, api_url, key, secret
        self.api = cent.AsyncClient(api_url, key)
        self.clients = []

    async def close(self):
        for client in self.clients:
            if client.events.away is not None:
                client.events.away.set()
            await client.disconnect()
        await self.api.close()

    # Tokens

    def token(self, user, life=None, secret=None, **claims):
        """A connection token; with `channel` among the claims one for a subscription."""
        payload = {"sub": user} | claims
        if life is not None:
            payload["exp"] = int(time.time()) + life
        head, body = (_base64(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, payload))
        signature = hmac.digest((secret or self.secret).encode(), f"{head}.{body}".encode(), hashlib.sha256)
        return f"{head}.{body}.{_base64(signature)}"

    # Payloads: in the JSON form any value, in the protobuf form bytes

    def out(self, value):
        return json.dumps(value).encode() if self.protobuf else value

    def into(self, data):
        return json.loads(data) if self.protobuf and data is not None else data

    # Clients

    def client(self, user=None, **options):
        """A client of the library with its events; `user` makes it a token."""
        if user is not None and "token" not in options:
            options["token"] = self.token(user, info={"name": user.upper()})
        events = Events()
        client = centrifuge.Client(self.url, events=events, use_protobuf=self.protobuf, proxy=None, **options)
        client.seen = events.seen
        events.client = client
        self.clients.append(client)
        return client

    async def connected(self, user=None, **options):
        client = self.client(user, **options)
        await client.connect()
        await client.seen.next("connected")
        return client

    def room(self, client, name, **options):
        events = RoomEvents()
        room = client.new_subscription(name, events=events, **options)
        room.seen = events.seen
        return room

    async def joined(self, client, name, **options):
        room = self.room(client, name, **options)
        await room.subscribe()
        room.first = await room.seen.next("subscribed")
        return room

    async def data(self, room, count):
        """The payloads of the next `count` publications."""
        return [self.into((await room.seen.next("publication")).pub.data) for _ in range(count)]

    async def publish(self, name, *values, **options):
        return [await self.api.publish(cent.PublishRequest(channel=name, data=value, **options)) for value in values]

    async def error(self, call):
        """The code of the error that a call of the client library or of cent ends with."""
        try:
            got = await call
        except (centrifuge.ReplyError, cent.CentApiResponseError) as error:
            return error.code
        raise Failed(f"no error but {got!r}")


def _base64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Seen:
    """Events in the order they came; each is taken once."""

    def __init__(self):
        self.kept = []
        self.changed = asyncio.Condition()

    async def put(self, kind, context):
        async with self.changed:
            self.kept.append((kind, context))
            self.changed.notify_all()

    async def next(self, kind):
        """The next event of this kind; those of other kinds stay."""
        await self.reaches(kind, 1)
        place = [name for name, _ in self.kept].index(kind)
        return self.kept.pop(place)[1]

    async def reaches(self, kind, count):
        """Waits until so many events of this kind are there, and leaves them."""
        try:
            async with asyncio.timeout(DEADLINE), self.changed:
                await self.changed.wait_for(lambda: self.count(kind) >= count)
        except TimeoutError:
            raise Failed(f"no {kind!r} came; there is {self.kept}") from None

    def count(self, kind):
        return sum(name == kind for name, _ in self.kept)


class Events(centrifuge.ClientEventHandler):
    """Notes what a client says. `away` holds a client back that lost its connection, until it is set."""

    def __init__(self):
        self.seen = Seen()
        self.away = None

    async def on_connecting(self, ctx):
        await self.seen.put("connecting", ctx)
        if self.away is not None and ctx.code != 0:
            await self.away.wait()

    async def on_connected(self, ctx):
        await self.seen.put("connected", ctx)

    async def on_disconnected(self, ctx):
        await self.seen.put("disconnected", ctx)

    async def on_error(self, ctx):
        await self.seen.put("error", ctx)

    async def on_subscribing(self, ctx):
        await self.seen.put("subscribing", ctx)

    async def on_subscribed(self, ctx):
        await self.seen.put("subscribed", ctx)

    async def on_unsubscribed(self, ctx):
        await self.seen.put("unsubscribed", ctx)

    async def on_publication(self, ctx):
        await self.seen.put("publication", ctx)

    async def on_join(self, ctx):
        await self.seen.put("join", ctx)

    async def on_leave(self, ctx):
        await self.seen.put("leave", ctx)


class RoomEvents(centrifuge.SubscriptionEventHandler):
    """Notes what a subscription says."""

    def __init__(self):
        self.seen = Seen()

    async def on_subscribing(self, ctx):
        await self.seen.put("subscribing", ctx)

    async def on_subscribed(self, ctx):
        await self.seen.put("subscribed", ctx)

    async def on_unsubscribed(self, ctx):
        await self.seen.put("unsubscribed", ctx)

    async def on_publication(self, ctx):
        await self.seen.put("publication", ctx)

    async def on_join(self, ctx):
        await self.seen.put("join", ctx)

    async def on_leave(self, ctx):
        await self.seen.put("leave", ctx)

    async def on_error(self, ctx):
        await self.seen.put("error", ctx)
