"""An adapter in Python: rap-conformance runtime --adapter-cmd "python adapter.py {port}"."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from small_runtime import Runtime  # yours goes here

RUNTIME = Runtime()


class Adapter(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/state":
            self.reply({"threads": [shown(*item) for item in list(RUNTIME.threads.items())]})
        else:  # /callback_url?thread_id=…&tool_call_id=…: one URL serves every call
            self.reply({"callback_url": f"http://127.0.0.1:{self.server.server_port}/callback"})

    def do_POST(self):
        body, answer = self.rfile.read(int(self.headers["Content-Length"])), {}
        try:
            message = json.loads(body)
            if self.path == "/boot":
                if message["threads"] is not None:
                    RUNTIME.threads = {thread["thread_id"]: state(thread) for thread in message["threads"]}
                RUNTIME.start(message.get("status_timeout", 10.0))
                answer = {"unsupported": ["kill"]}  # this runtime lives in the adapter's process
            elif self.path == "/callback":  # part of the runtime; it stands here because we have a server
                RUNTIME.callback(message)
        except (ValueError, KeyError, TypeError, RecursionError):
            self.send_error(400)
        else:
            self.reply(answer)  # also to /message, which nothing blocks here, and /shutdown

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def state(thread):
    servers = {kind: {call["tool_call_id"]: call["server_url"] for call in thread[kind]} for kind in KINDS}
    return {**servers, "injected": []}


def shown(thread_id, thread):
    with RUNTIME.lock:
        lists = {kind: list(thread[kind]) for kind in (*KINDS, "injected")}
    return {"thread_id": thread_id, **lists}


KINDS = ("pending", "subscriptions")
ThreadingHTTPServer.request_queue_size = 256
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Adapter).serve_forever()
