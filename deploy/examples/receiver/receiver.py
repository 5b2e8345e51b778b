#!/usr/bin/env python3
"""A receiver for RoomBridge in one file, with nothing but Python's standard library (3.10 or newer).

It checks each request's signature, takes each event once, and keeps what it took: GET /chats/ROOM gives a chat's messages.

    SIGNING_SECRET        the endpoint's secrets, whsec_…, spaces between; several while one is being replaced.
                          "none" takes unsigned requests: for a first try on one machine
    SIGNING_SECRET_FILE   a file that holds them, in place of SIGNING_SECRET
    PORT                  default 9000; 0: any free one
    STATE                 a folder for what is kept, default ./receiver-state
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
import pathlib
import sqlite3
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

TOLERANCE = 5 * 60  # seconds that the sender's clock may differ; an older request may be a recorded one, sent again
LARGEST_BODY = 32 << 20  # an event has at most 16 MiB, and base64 makes it a third longer


def signing_keys() -> list[bytes]:
    """The keys in the environment; the program does not start without, since it would then believe anybody."""
    text = os.environ.get("SIGNING_SECRET", "")
    if not text and "SIGNING_SECRET_FILE" in os.environ:
        text = pathlib.Path(os.environ["SIGNING_SECRET_FILE"]).read_text()
    if text == "none":
        return []
    try:
        keys = [base64.b64decode(secret.removeprefix("whsec_"), validate=True) for secret in text.split()]
    except binascii.Error:
        keys = []
    if not keys or not all(keys):
        raise SystemExit("receiver: SIGNING_SECRET or SIGNING_SECRET_FILE must give secrets in the form whsec_BASE64")
    return keys


def is_signed(keys: list[bytes], headers, body: bytes) -> bool:
    """True when the request is fresh and one of its signatures is by one of our keys (Standard Webhooks, `v1`)."""
    identifier, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(time.time() - float(timestamp)) > TOLERANCE:
        return False
    # Over the bytes as they came: JSON that was read and printed again is other bytes.
    signed = f"{identifier}.{timestamp}.".encode() + body
    ours = [b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()) for key in keys]
    theirs = [one.encode() for one in headers.get("webhook-signature", "").split(" ")]
    return any(hmac.compare_digest(one, other) for one in ours for other in theirs)


class Records:
    """What was received, in SQLite. Any database will do, if one transaction can hold both: the id, and the work."""

    def __init__(self, folder: pathlib.Path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.lock = threading.Lock()
        self.database = sqlite3.connect(folder / "receiver.db", check_same_thread=False)
        self.database.executescript("""
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;  -- what is committed outlives a power failure
            CREATE TABLE IF NOT EXISTS received (id TEXT PRIMARY KEY) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS messages (place INTEGER PRIMARY KEY, room TEXT NOT NULL, body BLOB NOT NULL);
            CREATE INDEX IF NOT EXISTS messages_of_a_room ON messages (room, place);
        """)

    def keep(self, deliveries: list[tuple[str, str, bytes]]) -> set[str]:
        """Keeps deliveries (id, room, body) that were not kept before; the ids of these.

        One transaction: a crash leaves the ids and the work, or neither. Two copies of one event at the same time (the
        sender was tired of waiting) meet at the primary key. The ids stay: an event may come again after days.
        """
        new = set()
        with self.lock, self.database:
            for identifier, room, body in deliveries:
                known = self.database.execute("INSERT OR IGNORE INTO received VALUES (?)", (identifier,)).rowcount == 0
                if not known:
                    self.database.execute("INSERT INTO messages (room, body) VALUES (?, ?)", (room, body))
                    new.add(identifier)
        return new

    def messages(self, room: str) -> bytes:
        """The deliveries of a room as a JSON array, each as it came, oldest first.

        They come in order within a room, so the order of arrival is the room's own. A `room.gap` among them stands
        where messages are missing.
        """
        with self.lock:
            rows = self.database.execute("SELECT body FROM messages WHERE room = ? ORDER BY place", (room,)).fetchall()
        return b"[" + b",".join(body for body, in rows) + b"]"


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection
    disable_nagle_algorithm = True
    keys: list[bytes]
    records: Records

    def do_POST(self):
        length = self.headers.get("content-length", "")
        if not length.isdecimal() or float(length) > LARGEST_BODY:
            self.close_connection = True  # since the body is not read, what comes next is no request
            return self.answer(413 if length.isdecimal() else 411)
        body = self.rfile.read(int(length))
        # 401, not 400: a wrong secret is no fault of the event. The sender keeps its events and tries again.
        if self.keys and not is_signed(self.keys, self.headers, body):
            return self.answer(401)
        # A batch ("format": "ndjson" with "batch") has one event a line. Whoever refuses one of them refuses the batch: the
        # sender finds out which it was.
        is_batch = self.headers.get("content-type") == "application/x-ndjson"
        bodies = body.rstrip(b"\n").split(b"\n") if is_batch else [body]
        try:
            # The body, not the roombridge- headers: it is what the signature covers. Numbers may be longer than int() likes.
            messages = [json.loads(one, parse_int=float) for one in bodies]
            deliveries = [(message["id"], message["data"]["room"], one) for message, one in zip(messages, bodies)]
            if not all(isinstance(name, str) for delivery in deliveries for name in delivery[:2]):
                raise TypeError
        except (ValueError, TypeError, KeyError, RecursionError):
            return self.answer(400)  # it is genuine and will never be better: no use in sending it again
        try:
            new = self.records.keep(deliveries)
        except sqlite3.Error as error:
            print(f"receiver: not kept, the sender will try again: {error}", file=sys.stderr, flush=True)
            return self.answer(503)
        # Only now: 2xx means "this is mine", and the sender forgets it. It waits 15 s; what takes longer is a job of its
        # own, begun after the answer.
        self.answer(204)
        for message, (identifier, room, _) in zip(messages, deliveries):
            if identifier in new and message.get("type") == "room.gap":
                print(f"MISSING EVENTS in {room!r}: {json.dumps(message['data'].get('gap'))}", flush=True)
            elif identifier in new:
                print(f"kept {identifier} of {room!r}", flush=True)

    def do_GET(self):
        # An app asks here who is reading, and whether this chat is his. This example listens to its own machine only.
        if not self.path.startswith("/chats/chat"):
            return self.answer(404)
        self.answer(200, self.records.messages(unquote(self.path.removeprefix("/chats/"))))

    def answer(self, status: int, body: bytes = b""):
        self.send_response(status)
        if self.close_connection:
            self.send_header("connection", "close")
        if status != 204:
            self.send_header("content-length", str(len(body)))
            self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    Receiver.keys = signing_keys()
    Receiver.records = Records(pathlib.Path(os.environ.get("STATE", "receiver-state")))
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver)
    print(f"receiver listens on 127.0.0.1:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
