#!/usr/bin/env python3
"""A receiver for RoomBridge in one file, with nothing but Python's standard library.

It takes each event once: RoomBridge delivers at least once, and the same event always has the same `webhook-id`.

    receiver.py [--port 9000] [--log FILE]

With --log each delivery becomes one JSON line. With WEBHOOK_SECRET set (whsec_…), the signature of each request is
checked (Standard Webhooks: HMAC-SHA256 over id.timestamp.body) and what is not signed right is answered 401.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE = 5 * 60  # seconds that the sender's clock may differ


def is_signed(secret: str, headers, body: bytes) -> bool:
    """True when one of the signatures in the header is ours and the request is fresh."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        if abs(time.time() - int(headers["webhook-timestamp"])) > TOLERANCE:
            return False
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return any(hmac.compare_digest(one, expected) for one in headers["webhook-signature"].split(" "))
    except (KeyError, TypeError, ValueError):
        return False


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection
    disable_nagle_algorithm = True
    seen: set[str] = set()  # a real program keeps these in its database, in the transaction that does the work
    log = sys.stdout
    secret = os.environ.get("WEBHOOK_SECRET")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.secret and not is_signed(self.secret, self.headers, body):
            return self.answer(401)
        identifier = self.headers["webhook-id"]
        if identifier not in self.seen:
            self.work(json.loads(body), identifier)
            self.seen.add(identifier)
        # Answer when the work is done, within 15 s: 2xx means "this is mine now", anything else "again, please".
        self.answer(204)

    def work(self, message: dict, identifier: str):
        data = message["data"]
        line = {"id": identifier, "type": message["type"], "room": data["room"]} | {
            key: data[key] for key in ("event", "data", "data_base64", "gap", "meta") if key in data
        }
        self.log.write(json.dumps(line) + "\n")
        self.log.flush()

    def answer(self, status: int):
        self.send_response(status)
        if status != 204:
            self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--log", help="a file that gets one JSON line for each event (default: standard output)")
    options = parser.parse_args()
    if options.log:
        Receiver.log = open(options.log, "a", encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Receiver)
    print(f"receiver listens on http://127.0.0.1:{server.server_address[1]}/", file=sys.stderr, flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
