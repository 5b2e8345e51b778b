"""A receiver of a real app: http.server, signatures verified by PyPI's `standardwebhooks`, events read by `cloudevents`.

    receiver.py SECRET LOGFILE [PUBLICKEY]

Prints its port, then one JSON line a request into LOGFILE: {"headers": {…}, "body": BASE64, "verified": true}, with a public
key (whpk_…) also "verified_by_key", for `v1a`, and for
CloudEvents {"attributes": {…}, "bytes": BASE64} of each under "events" (bytes: data that is not JSON), or under "error" what is
wrong with them.
"""

import base64
import hmac
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def is_signed(headers, body):
    key = base64.b64decode(sys.argv[1].removeprefix("whsec_"))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, text, "sha256")).decode()
    return f"v1,{signature}" in headers["webhook-signature"].split(" ")


def is_signed_by_pair(headers, body):
    """The libraries of Standard Webhooks do not check `v1a` yet, PyPI's `cryptography` does."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(sys.argv[3].removeprefix("whpk_")))
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    for word in headers["webhook-signature"].split(" "):
        version, _, signature = word.partition(",")
        try:
            if version == "v1a":
                key.verify(base64.b64decode(signature), text)
                return True
        except InvalidSignature:
            pass
    return False


def read_events(headers, body):
    kind = headers.get("content-type", "")
    if not kind.startswith("application/cloudevents") and "ce-id" not in headers:
        return None
    if kind.startswith("application/cloudevents-batch+json"):
        messages = [HTTPMessage({}, json.dumps(event).encode()) for event in json.loads(body)]
    else:
        messages = [HTTPMessage(headers, body)]
    events = []
    for event in map(from_http_event, messages):
        data = event.get_data()
        attributes = {name: str(value) for name, value in event.get_attributes().items()}
        if isinstance(data, str) and event.get_datacontenttype() == "application/octet-stream":
            data = data.encode()
        # Data that is JSON may be what no JSON can say again.
        events.append({"attributes": attributes, "bytes": base64.b64encode(data).decode() if isinstance(data, bytes) else None})
    return events


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    webhook = Webhook(sys.argv[1])
    log = open(sys.argv[2], "a", encoding="ascii")
    lock = threading.Lock()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            self.webhook.verify(body, headers, json_parse=False)
            verified = True
        except UnicodeDecodeError:
            # The library takes text only: a body of other bytes is checked as it would.
            verified = is_signed(headers, body)
        except WebhookVerificationError:
            verified = False
        entry = {"headers": headers, "body": base64.b64encode(body).decode(), "verified": verified}
        if len(sys.argv) > 3:
            entry["verified_by_key"] = is_signed_by_pair(headers, body)
        try:
            entry["events"] = read_events(headers, body)
        except Exception as error:
            entry["error"] = repr(error)
        with self.lock:
            self.log.write(json.dumps(entry) + "\n")
            self.log.flush()
        self.send_response(204 if verified else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_address[1], flush=True)
server.serve_forever()
