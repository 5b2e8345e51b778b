#!/usr/bin/env python3
"""A receiver for RoomBridge on a Unix stream socket, with nothing but Python's standard library (3.10 or newer).

    receiver.py MODE SOCKET FOLDER

MODE is the endpoint's "ack": read, line or protocol. It takes each event once and keeps it: FOLDER/receiver.db.
"""

import json
import os
import pathlib
import signal
import socket
import sqlite3
import sys

LONGEST_LINE = 32 << 20  # an event has at most 16 MiB, and base64 makes it a third longer


class Records:
    """What was received. Any database will do, if one transaction can hold both: the id, and the work."""

    def __init__(self, folder: pathlib.Path):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.database = sqlite3.connect(folder / "receiver.db")
        self.database.executescript("""
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = FULL;  -- what is committed outlives a power failure
            CREATE TABLE IF NOT EXISTS received (id TEXT PRIMARY KEY) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS messages (place INTEGER PRIMARY KEY, room TEXT NOT NULL, line BLOB NOT NULL);
            CREATE TABLE IF NOT EXISTS resume (room TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS store (id TEXT NOT NULL);
        """)

    def keep(self, event: dict, line: bytes) -> None:
        """Keeps an event, unless it was kept before: a crash leaves the id and the work, or neither."""
        room, meta = event["data"]["room"], event["data"]["meta"]
        with self.database:
            new = self.database.execute("INSERT OR IGNORE INTO received VALUES (?)", (event["id"],)).rowcount == 1
            if new:
                self.database.execute("INSERT INTO messages (room, line) VALUES (?, ?)", (room, line))
            # The highest: a dead letter that is sent again out of order has an old one.
            self.database.execute(
                "INSERT INTO resume VALUES (?, ?) ON CONFLICT (room) DO UPDATE SET seq = max(seq, excluded.seq)",
                (room, meta["seq"]),
            )

    def resume(self, store: str) -> dict:
        """The last seq of each room; nothing when the bridge has a new state folder, since it counts anew there."""
        with self.database:
            if self.database.execute("SELECT 1 FROM store WHERE id = ?", (store,)).fetchone() is None:
                self.database.execute("DELETE FROM store")
                self.database.execute("DELETE FROM resume")
                self.database.execute("INSERT INTO store VALUES (?)", (store,))
            return dict(self.database.execute("SELECT room, seq FROM resume"))


def serve(mode: str, connection: socket.socket, records: Records) -> None:
    """Takes the lines of one connection, one after the other."""

    def say(line: str | dict) -> None:
        text = line if isinstance(line, str) else json.dumps(line)
        connection.sendall(text.encode() + b"\n")

    for line in connection.makefile("rb"):
        if not line.endswith(b"\n"):
            return  # the rest of it comes again, on another connection
        message = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < 19 else float(digits))
        op = message.get("op")
        if op == "hello":
            hello = {"op": "hello", "v": 1, "max_line": LONGEST_LINE, "store": message["store"]}
            say(hello | {"resume": records.resume(message["store"])})
        elif op == "ping":
            say({"op": "pong"})
        elif op == "bye":
            return
        elif op in (None, "event"):
            try:
                records.keep(message, line)
            except sqlite3.Error as error:  # a full disk, perhaps: the bridge keeps the event
                print(f"receiver: not kept: {error}", file=sys.stderr, flush=True)
                if mode != "protocol":
                    return  # unanswered, it comes again; with "read" it was ours the moment it was read
                say({"op": "nack", "n": message["n"], "delay_ms": 5_000, "reason": "not kept"})
                continue
            # Only now: this says that it is ours, and the bridge forgets it.
            if mode == "line":
                say(str(message["n"]))
            elif mode == "protocol":
                say({"op": "ack", "ns": [message["n"]]})


def main() -> None:
    if len(sys.argv) != 4 or sys.argv[1] not in ("read", "line", "protocol"):
        raise SystemExit(__doc__)
    mode, path, folder = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    records = Records(pathlib.Path(folder))
    pathlib.Path(path).unlink(missing_ok=True)  # of a life before this one
    listener = socket.socket(socket.AF_UNIX)
    os.umask(0o117)  # the owner and the group may connect
    listener.bind(path)
    listener.listen()
    print(f"receiver listens on {path}", flush=True)
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                serve(mode, connection, records)
            except ConnectionError:
                pass  # the bridge makes another one


if __name__ == "__main__":
    main()
