"""A receiver of a real app: http.server, signatures verified by PyPI's `standardwebhooks`.

    receiver.py SECRET LOGFILE

Prints its port, then one JSON line a request into LOGFILE: {"headers": {…}, "body": BASE64, "verified": true}.
"""

import base64
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


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
            self.webhook.verify(body, headers)
            verified = True
        except WebhookVerificationError:
            verified = False
        entry = {"headers": headers, "body": base64.b64encode(body).decode(), "verified": verified}
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
