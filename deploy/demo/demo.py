#!/usr/bin/env python3
"""RoomBridge before your eyes: a hub, a receiver and the bridge, events at a steady pace, a kill -9 in the middle.

    demo.py FOLDER_WITH_THE_BINARIES

Everything lives in a temporary folder and on free ports of 127.0.0.1, and is gone at the end or on Ctrl-C.
"""

import base64
import contextlib
import json
import os
import pathlib
import secrets
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
RECEIVER = HERE.parent / "examples" / "receiver" / "receiver.py"
API_KEY = "roomhub-api-key"  # roomhub's default, good on loopback only
EVENTS = 60
PACE = 0.15  # seconds between events
ROOMS = ["shop", "order:1042", "order:1043"]
HUB_CONFIGURATION = {"rooms": [{"pattern": "shop", "public": True, "history": 1000, "keep": "30m"},
                               {"pattern": "order:{id}", "public": True, "history": 1000, "keep": "30m"}]}


def say(text=""):
    print(text, flush=True)


def held_port():
    """A free port, and the socket that keeps it free for us: it is bound but does not listen."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder, holder.getsockname()[1]


class Demo:
    def __init__(self, binaries: pathlib.Path, folder: pathlib.Path):
        self.binaries, self.folder = binaries, folder
        self.children: list[subprocess.Popen] = []
        self.published: list[tuple[str, str, int]] = []  # room, epoch, offset: from the server's replies
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
        self.environment = os.environ | {"SIGNING_SECRET": secret, "STATE": str(folder / "received")}

    def start(self, name: str, *command: str, **environment: str) -> subprocess.Popen:
        log = open(self.folder / f"{name}.log", "ab")
        child = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                                 env=self.environment | environment)
        self.children.append(child)
        return child

    def wait_for(self, child: subprocess.Popen, name: str, text: str):
        deadline = time.monotonic() + 20
        log = self.folder / f"{name}.log"
        while text not in log.read_text(errors="replace"):
            if child.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{name} did not start:\n{log.read_text(errors='replace')}")
            time.sleep(0.02)
        return next(line for line in log.read_text(errors="replace").splitlines() if text in line)

    def start_bridge(self) -> subprocess.Popen:
        (self.folder / "bridge.log").unlink(missing_ok=True)
        bridge = self.start("bridge", str(self.binaries / "roombridge"), "run", "--config",
                            str(self.folder / "config.json"), "--state-dir", str(self.folder / "state"))
        self.wait_for(bridge, "bridge", "rooms are joined")
        return bridge

    def publish(self, number: int):
        room = ROOMS[number % len(ROOMS)]
        body = {"channel": room, "data": {"event": "updated", "data": {"number": number}}}
        request = urllib.request.Request(f"http://127.0.0.1:{self.hub_port}/api/publish", json.dumps(body).encode(),
                                         {"X-API-Key": API_KEY, "content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            result = json.load(answer)["result"]
        self.published.append((room, result["epoch"], result["offset"]))

    def received(self) -> list[dict]:
        """What the receiver has kept, read from its own database."""
        with contextlib.closing(sqlite3.connect(self.folder / "received" / "receiver.db", timeout=10)) as database:
            rows = database.execute("SELECT body FROM messages ORDER BY place").fetchall()
        return [json.loads(body) for body, in rows]

    def show_arrivals(self, stop: threading.Event):
        shown = 0
        while not stop.is_set() or shown < len(self.received()):
            for message in self.received()[shown:]:
                data = message["data"]
                if message["type"] == "room.event":
                    replayed = "  (missed while the bridge was down)" if data["meta"]["replayed"] else ""
                    say(f"    received  {data['room']:<11} {json.dumps(data['data']):<14} seq {data['meta']['seq']}{replayed}")
                else:
                    say(f"    received  {data['room']:<11} {message['type']} {json.dumps(data.get('gap'))}")
                shown += 1
            stop.wait(0.05)

    def run(self) -> int:
        say("1. A hub (a small realtime server), a receiver (the local program) and the bridge between them.")
        hub = self.start_hub()
        holder, port = held_port()
        receiver = self.start("receiver", sys.executable, str(RECEIVER), PORT=str(port))
        self.wait_for(receiver, "receiver", "receiver listens")
        holder.close()
        configuration = {
            "servers": {"main": {"url": f"ws://127.0.0.1:{self.hub_port}/connection/websocket"}},
            "endpoints": {"receiver": {"url": f"http://127.0.0.1:{port}/hooks/rooms",
                                       "signing": [{"env": "SIGNING_SECRET"}]}},
            "rooms": [{"room": room, "to": ["receiver"]} for room in ROOMS],
        }
        (self.folder / "config.json").write_text(json.dumps(configuration, indent=2) + "\n")
        bridge = self.start_bridge()
        say(f"   hub: process {hub.pid}, receiver: {receiver.pid}, bridge: {bridge.pid}; rooms: {', '.join(ROOMS)}\n")

        say(f"2. {EVENTS} events, one each {PACE} s. The bridge is killed with -9 in the middle and started again later.")
        stop = threading.Event()
        viewer = threading.Thread(target=self.show_arrivals, args=(stop,))
        viewer.start()
        try:
            for number in range(1, EVENTS + 1):
                if number == EVENTS // 3:
                    bridge.kill()
                    bridge.wait()
                    say("    ======== kill -9: the bridge is gone; events go on ========")
                if number == EVENTS * 2 // 3:
                    bridge = self.start_bridge()
                    say(f"    ======== the bridge is back, as process {bridge.pid} ========")
                self.publish(number)
                time.sleep(PACE)
            deadline = time.monotonic() + 30
            while len(self.received()) < len(self.published) and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            stop.set()
            viewer.join()
        return self.judge(bridge)

    def start_hub(self) -> subprocess.Popen:
        (self.folder / "hub.json").write_text(json.dumps(HUB_CONFIGURATION))
        hub = self.start("hub", str(self.binaries / "roomhub"), "--config", str(self.folder / "hub.json"), "--listen",
                         "127.0.0.1:0")
        self.hub_port = int(self.wait_for(hub, "hub", "listens on").rsplit(":", 1)[1])
        return hub

    def judge(self, bridge: subprocess.Popen) -> int:
        bridge.send_signal(signal.SIGTERM)
        status = bridge.wait(timeout=10)
        events = [message["data"] for message in self.received() if message["type"] == "room.event"]
        got = [(event["room"], event["meta"]["epoch"], event["meta"]["offset"]) for event in events]
        lost = len(set(self.published) - set(got))
        out_of_order = 0
        for room in ROOMS:
            offsets = [offset for name, _, offset in got if name == room]
            out_of_order += sum(later <= earlier for earlier, later in zip(offsets, offsets[1:]))
        say(f"\n3. published {len(self.published)}, received {len(set(got))}, lost {lost}, out of order {out_of_order}")
        say(f"   (published: from the server's replies; received: from the receiver's own database; the bridge ended with {status})")
        if lost or out_of_order or status or set(got) - set(self.published):
            say("   THAT IS WRONG. The bridge's log:\n" + (self.folder / "bridge.log").read_text(errors="replace"))
            return 1
        say("""
How to go on from here, in three terminals:
   .build/release/roomhub
   SIGNING_SECRET=none deploy/examples/receiver/receiver.py
   .build/release/roombridge run --config config.example.json --state-dir /tmp/roombridge-state
and publish:
   curl -H 'X-API-Key: roomhub-api-key' -d '{"channel":"shop","data":{"event":"opened","data":{}}}' \\
        http://127.0.0.1:8000/api/publish""")
        return 0

    def end(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.terminate()
        for child in self.children:
            try:
                child.wait(timeout=7)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def main() -> int:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    with tempfile.TemporaryDirectory(prefix="roombridge-demo-") as folder:
        demo = Demo(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(folder))
        try:
            return demo.run()
        except KeyboardInterrupt:
            say("\nstopped; cleaning up")
            return 130
        finally:
            demo.end()


if __name__ == "__main__":
    sys.exit(main())
