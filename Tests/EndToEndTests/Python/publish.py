"""Publishes through PyPI's `cent`: one JSON request a line on standard input, the server's answer a line on standard output.

    publish.py API_URL API_KEY

A request is {"channel": …, "data": …} or {"channel": …, "b64data": …}; the answer {"offset": …, "epoch": …, "sent": BASE64}
with the bytes that the server has now.
"""

import base64
import json
import sys

import cent


def main():
    client = cent.Client(sys.argv[1], sys.argv[2])
    for line in sys.stdin:
        request = json.loads(line)
        if "b64data" in request:
            sent = base64.b64decode(request["b64data"])
            # cent leaves out what is None.
            message = cent.PublishRequest(channel=request["channel"], data=None, b64data=request["b64data"])
        else:
            # What cent's session sends: the request as json.dumps writes it.
            sent = json.dumps(request["data"]).encode()
            message = cent.PublishRequest(channel=request["channel"], data=request["data"])
        result = client.publish(message)
        answer = {"offset": result.offset, "epoch": result.epoch, "sent": base64.b64encode(sent).decode()}
        print(json.dumps(answer), flush=True)


main()
