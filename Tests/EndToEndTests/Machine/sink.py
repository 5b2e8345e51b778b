"""Receives events as HTTP on 127.0.0.1:9000 and as lines on /run/app/events.sock, and writes down what came.

/var/sink.http has a line for each request: the number in its event, and the secret that signed it. /var/sink.lines has
the number in each line. While /run/sink.hang is there, requests get no answer.
"""
import base64, hashlib, hmac, http.server, json, os, socket, threading, time

SECRETS = {"old": b"whsec_b2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xkb2xk", "new": b"whsec_bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3bmV3"}


def write(name, text):
    with open(name, "a") as file:
        print(text, file=file)


def number(text):
    return json.loads(text)["data"].get("data", {}).get("n", "-")


def signer(headers, body):
    signed = "{webhook-id}.{webhook-timestamp}.".format_map(headers).encode() + body
    for name, secret in SECRETS.items():
        key = base64.b64decode(secret[6:])
        value = "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
        if value in headers.get("webhook-signature", "").split():
            return name
    return "nobody"


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        while os.path.exists("/run/sink.hang"):
            time.sleep(0.05)
        headers = {name.lower(): value for name, value in self.headers.items()}
        write("/var/sink.http", f"{number(body)} {signer(headers, body)}")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def lines():
    os.makedirs("/run/app", exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("/run/app/events.sock")
    # Whoever runs the program decides who else may write to it; at first nobody.
    os.chmod("/run/app/events.sock", 0o660)
    listener.listen()
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as file:
            for line in file:
                record = json.loads(line)
                if "data" in record:
                    write("/var/sink.lines", number(line))


threading.Thread(target=lines, daemon=True).start()
http.server.ThreadingHTTPServer(("127.0.0.1", 9000), Receiver).serve_forever()
