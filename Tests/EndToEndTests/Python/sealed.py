"""Seals and opens values with PyPI's `joserfc`: one JSON request a line on standard input, an answer a line on standard output.

{"do": "seal", "key": KEY, "kid": …, "text": …} gives {"token": …}; `alg` and `zip` may be added.
{"do": "open", "key": KEY, "token": …} gives {"text": …, "kid": …}, or {"error": …}.
KEY is base64url of 32 bytes.
"""

import json
import sys

from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

ALGORITHMS = ["dir", "A256KW", "A256GCMKW", "A256GCM", "DEF"]


def answer(request):
    key = OctKey.import_key({"kty": "oct", "k": request["key"]})
    if request["do"] == "open":
        try:
            opened = jwe.decrypt_compact(request["token"], key, algorithms=["dir", "A256GCM"])
        except (JoseError, ValueError) as error:
            return {"error": type(error).__name__}
        return {"text": opened.plaintext.decode(), "kid": opened.headers()["kid"]}
    header = {"alg": request.get("alg", "dir"), "enc": "A256GCM", "kid": request["kid"]}
    if "zip" in request:
        header["zip"] = request["zip"]
    return {"token": jwe.encrypt_compact(header, request["text"].encode(), key, algorithms=ALGORITHMS)}


def main():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


main()
