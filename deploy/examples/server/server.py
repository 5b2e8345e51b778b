#!/usr/bin/env python3
"""The server side of rooms for an app in Python (3.10 or newer), with nothing but its standard library: copy it, and replace
what is marked EXAMPLE.

    POST /realtime/auth     may this user join these rooms? Answers a token for each room that he may join
    GET  /realtime/config   where the hub is, and the grants of the rooms that anyone may join

    HUB_URL                 default http://127.0.0.1:8000: the hub as this program reaches it
    HUB_PUBLIC_URL          as apps reach it, default HUB_URL with ws:// and /connection/websocket
    HUB_API_KEY, HUB_TOKEN_SECRET   defaults: roomhub's
    PORT                    default 8080; 0: any free one
"""

import base64
import hashlib
import hmac
import json
import os
import re
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN_LIFE = 60 * 60  # seconds; the app asks again in time
MOST_ROOMS = 1000  # in one request
LONGEST_NAME = 255  # bytes


class Refusal(Exception):
    """What is wrong with a request."""

    def __init__(self, status: int, message: str, **headers: str):
        super().__init__(message)
        self.status, self.headers = status, headers


class Pattern:
    """`{x}` is one or more characters without `:`, a last `{x*}` any rest."""

    PART, ANY = "{}", "{*}"  # a character that is no colon; any character

    def __init__(self, text: str):
        if not re.fullmatch(r"(?:[^{}]|\{[A-Za-z_]\w*\})*(?:\{[A-Za-z_]\w*\*\})?", text, re.ASCII | re.DOTALL) or not text:
            raise ValueError(f"{text} is no pattern: write {{x}} for a part of a name, and {{x*}} only at its end")
        self.text, self.is_name = text, "{" not in text
        expression, self.steps = "", []  # each step takes one character, or any number: (takes, many)
        for literal, label, rest in re.findall(r"([^{}])|\{(\w+)(\*?)\}", text, re.DOTALL):
            if literal:
                expression += re.escape(literal)
                self.steps.append((literal, False))
            elif not rest:
                expression += f"(?P<{label}>[^:]+)"
                self.steps += [(self.PART, False), (self.PART, True)]
            else:
                expression += f"(?P<{label}>.*)"
                self.steps.append((self.ANY, True))
        self.expression = re.compile(expression, re.DOTALL)
        self.literals = len(re.sub(r"\{\w+\*?\}", "", text).encode())

    def overlaps(self, other: "Pattern") -> bool:
        """Whether some name fits both: goes through both at once, over every pair of places that one name can lead to."""

        def meet(a: str, b: str) -> bool:
            return a == b or self.ANY in (a, b) or (a == self.PART and b != ":") or (b == self.PART and a != ":")

        places, end = [(0, 0)], ("", False)
        for i, j in places:
            (a, a_many), (b, b_many) = (self.steps + [end])[i], (other.steps + [end])[j]
            if not a and not b:
                return True
            following = [(i + 1, j)] * a_many + [(i, j + 1)] * b_many
            if a and b and meet(a, b):
                following.append((i + (not a_many), j + (not b_many)))
            places += [place for place in following if place not in places]
        return False


@dataclass
class Room:
    pattern: Pattern
    rule: Callable | None
    options: dict

    def is_open_to(self, user) -> bool:
        """Whether this user may join without being asked about."""
        return self.options.get("public", False) and (user is not None or self.options.get("anonymous", True))


class Realtime:
    def __init__(self, app: str, url: str, public_url: str, api_key: str, token_secret: str):
        self.app, self.url, self.public_url, self.api_key = app, url, public_url, api_key
        self.token_secret = token_secret.encode()
        self.rooms: list[Room] = []  # those whose patterns have more literal bytes come first

    def room(self, pattern: str, rule: Callable | None = None, **options):
        """Declares the rooms that fit a pattern. Of several patterns that fit, the one with the most literal bytes wins.

        The rule decides who may join: it gets the user and the pattern's parts, and only True lets him in. The options are
        what the hub keeps and allows: history, keep, public, presence, max_members … (docs/ROOMHUB.md).
        """
        room = Room(Pattern(pattern), rule, options)
        for other in self.rooms:
            if other.pattern.literals == room.pattern.literals and other.pattern.overlaps(room.pattern):
                raise ValueError(f"{other.pattern.text} and {pattern} fit the same names equally well: write more of one out")
        self.rooms.append(room)
        self.rooms.sort(key=lambda room: -room.pattern.literals)

    def answer(self, request, user) -> dict:
        """The answer to an app that asks {"rooms":["order:1042",…],"connection":true}; a user of None is nobody."""
        if not isinstance(request, dict):
            raise Refusal(400, "the request must be an object")
        names, connection = request.get("rooms", []), request.get("connection", False)
        if not isinstance(names, list) or len(names) > MOST_ROOMS or not all(isinstance(name, str) for name in names):
            raise Refusal(400, f"rooms must be a list of at most {MOST_ROOMS} names")
        if not isinstance(connection, bool):
            raise Refusal(400, "connection must be true or false")
        answer = {"rooms": {name: self.verdict(name, user) for name in dict.fromkeys(names)}}
        if connection and user is not None:  # nobody connects without a token
            answer["connection"] = self.token(user)
        return answer

    def config(self, user=None) -> dict:
        """What an app needs at its start: the hub's URL, and grants, with which it joins public rooms without asking."""
        names = [room.pattern.text for room in self.rooms if room.pattern.is_name and room.is_open_to(user)]
        return {"url": self.public_url, "grants": {name: {"token": self.token(user, channel=name)} for name in names}}

    def keep_declared(self):
        """Tells the hub what the rooms keep and allow, and again every 10 s: a hub that was started anew has forgotten it."""
        said = ""
        while True:
            text, pause = self.declare()
            if text != said:
                print(f"rooms: {text}", flush=True)
            said = text
            if pause is None:
                return
            time.sleep(pause)

    def declare(self):
        """What came of it, and the seconds after which it is due again."""
        rooms = [{"pattern": room.pattern.text} | room.options for room in self.rooms]
        request = urllib.request.Request(f"{self.url}/api/declare_rooms", json.dumps({"app": self.app, "rooms": rooms}).encode(),
                                         {"x-api-key": self.api_key, "content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                error = json.load(answer).get("error")
            return (f"the hub refuses them: {error['code']} {error['message']}", 1) if error else ("declared", 10)
        except urllib.error.HTTPError as error:
            if error.code == 404:  # Centrifugo: what rooms keep stands in its own configuration, as namespaces
                return "the hub takes no declarations, its configuration counts", None
            return "the hub refuses the key: set HUB_API_KEY" if error.code == 401 else f"the hub answered {error.code}", 1
        except (OSError, ValueError) as error:
            return f"no answer from {self.url}: {getattr(error, 'reason', error)}", 1

    def verdict(self, name: str, user) -> dict:
        if len(name.encode("utf-8", "surrogatepass")) > LONGEST_NAME:
            return {"error": "bad_request"}
        room = next((room for room in self.rooms if room.pattern.expression.fullmatch(name)), None)
        if name == "" or room is None:
            return {"error": "no_rule"}
        is_allowed = room.is_open_to(user)
        # No rule is asked about nobody: an order that belongs to no user would be his.
        if not is_allowed and user is not None and room.rule is not None:
            is_allowed = room.rule(user, room.pattern.expression.fullmatch(name).groupdict())
        return {"token": self.token(user, channel=name)} if is_allowed is True else {"error": "forbidden"}

    def token(self, user, **claims) -> str:
        """A JWT, signed with HS256. It says whose it is: another user cannot use it."""

        def part(data: bytes) -> str:
            return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

        now = int(time.time())
        subject = {} if user is None else {"sub": str(user)}
        payload = subject | claims | {"exp": now + TOKEN_LIFE, "iat": now}
        text = part(b'{"alg":"HS256","typ":"JWT"}') + "." + part(json.dumps(payload).encode())
        return text + "." + part(hmac.new(self.token_secret, text.encode(), hashlib.sha256).digest())


hub_url = os.environ.get("HUB_URL", "http://127.0.0.1:8000")
realtime = Realtime(
    app="example",  # EXAMPLE: the name of this app, under which the hub keeps its list of rooms
    url=hub_url,
    public_url=os.environ.get("HUB_PUBLIC_URL") or re.sub("^http", "ws", hub_url) + "/connection/websocket",
    api_key=os.environ.get("HUB_API_KEY", "roomhub-api-key"),
    token_secret=os.environ.get("HUB_TOKEN_SECRET", "roomhub-token-secret"),
)


# EXAMPLE: the app's own data, as it would come from its database.
@dataclass
class Order:
    id: str
    user_id: str
    status: str


ORDERS = [Order("1042", "alice", "sent"), Order("1043", "bob", "open")]


def find_order(identifier: str):
    return next((order for order in ORDERS if order.id == identifier), None)


# EXAMPLE: the app's rooms.
realtime.room("order:{id}", lambda user, p: (order := find_order(p["id"])) is not None and order.user_id == user, history=20)
realtime.room("chat:{a}:{b}", lambda user, p: user in (p["a"], p["b"]), history=100, presence=True, max_members=2)
realtime.room("shop", history=20, public=True)
realtime.room("news:{topic}", history=20, public=True)


def user_of(headers):
    """EXAMPLE: who is asking; None is nobody.

    PUT YOUR OWN SESSION CHECK HERE. This one believes every name: `Authorization: Bearer alice` is alice.
    """
    authorization = headers.get("authorization")
    if authorization is None:
        return None
    bearer = re.fullmatch(r"bearer +(\S+)", authorization, re.IGNORECASE)
    if bearer is None:
        raise Refusal(401, "no such session", **{"www-authenticate": "Bearer"})
    return bearer[1]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection
    disable_nagle_algorithm = True

    def handle_any(self):
        headers = {}
        try:
            status, body = 200, self.answer()
        except Refusal as refusal:
            status, headers, body = refusal.status, refusal.headers, {"error": str(refusal)}
        except Exception:
            # A rule that fails says nothing about the user: 500, and the app tries again. `forbidden` would be believed.
            traceback.print_exc()
            status, body = 500, {"error": "something went wrong here"}
        data = json.dumps(body).encode()
        self.send_response(status)
        # Nobody keeps an answer with tokens in it.
        headers |= {"content-type": "application/json", "cache-control": "no-store", "content-length": str(len(data))}
        if self.close_connection:
            headers["connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = handle_any

    def answer(self):
        length = self.headers.get("content-length", "0")
        if not length.isdecimal() or float(length) > 1 << 20:
            self.close_connection = True  # since the body is not read, what comes next is no request
            raise Refusal(413, "the request is too long")
        body = self.rfile.read(int(length))
        method = {"/realtime/auth": "POST", "/realtime/config": "GET"}.get(self.path.split("?")[0])
        if method is None:
            raise Refusal(404, "there is nothing here")
        if self.command != method:
            raise Refusal(405, f"use {method}", allow=method)
        user = user_of(self.headers)
        if method == "GET":
            return realtime.config(user)
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            raise Refusal(400, "the request is not JSON") from None
        return realtime.answer(asked, user)

    def log_message(self, *_):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Handler)
    print(f"server listens on 127.0.0.1:{server.server_address[1]}", flush=True)
    threading.Thread(target=realtime.keep_declared, daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
