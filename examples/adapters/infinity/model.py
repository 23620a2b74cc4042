"""Stands in for a language model: the daemon speaks to it over a Unix socket, and is always told "ok".

It lives in the adapter's process, so that it outlives a killed daemon and needs no putting away. One request
a connection; requests and answers are lines of JSON.
"""

import contextlib
import json
import os
import socketserver
import threading

NAME = {"provider_id": "adapter", "model_id": "says-ok"}
_LIST = {
    "Models": [
        {
            "model_id": NAME["model_id"],
            "display_name": NAME["model_id"],
            "context_window": 1_000_000,  # large, so that nothing is ever summarised for lack of room
            "max_output_tokens": None,
        }
    ]
}
_REPLY = ["InvokeStarted", {"Chunk": {"Message": "ok"}}, {"Chunk": {"Final": {"usage": None}}}, "StreamEnd"]


class _Request(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(OSError, ValueError):  # a daemon that was killed within its request
            asked = json.loads(self.rfile.readline())
            for line in [_LIST] if asked == "ListModels" else _REPLY:
                self.wfile.write(json.dumps(line).encode() + b"\n")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads, request_queue_size = True, 512


def provider(folder):
    """Starts it; gives the entry of `providers.json`, whose command has only to print where it listens."""
    path = os.path.join(folder, "model.sock")
    threading.Thread(target=_Server(path, _Request).serve_forever, daemon=True).start()
    return {NAME["provider_id"]: {"command": ["echo", path]}}
