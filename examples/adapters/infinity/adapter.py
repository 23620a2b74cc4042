"""An adapter to the daemon of hydro-project/infinity; see README.md.

INFINITY_DAEMON=…/infinity-daemon rap-conformance runtime --adapter-cmd "python adapter.py {port}"
"""

import atexit
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from daemon import Daemon

UNSUPPORTED = ["several-pending", "foreign-thread-ids"]


class Adapter(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/state":
            self.reply(DAEMON.storage.state())
        else:
            self.reply({"callback_url": DAEMON.callback_url()})

    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        with TURN:
            if self.path == "/boot":
                DAEMON.stop("kill")
                if given["threads"] is not None:
                    DAEMON.storage.begin(given["threads"])
                DAEMON.storage.configure(given["servers"])
                DAEMON.start()
                return self.reply({"unsupported": UNSUPPORTED})
            if self.path == "/shutdown":
                DAEMON.stop(given.get("how", "stop"))
                return self.reply({})
        DAEMON.say(given["thread_id"], given["text"])
        return self.reply({})

    def reply(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if not os.environ.get("INFINITY_DAEMON"):
    sys.exit("say where the daemon is: INFINITY_DAEMON=…/infinity-daemon")
TURN = threading.Lock()
HOME = tempfile.mkdtemp(prefix="infinity-")  # short, since the path of a Unix socket must be
DAEMON = Daemon(os.environ["INFINITY_DAEMON"], HOME, together=os.environ.get("INFINITY_SESSIONS") == "one")
atexit.register(shutil.rmtree, HOME, ignore_errors=True)
atexit.register(DAEMON.stop, "kill")
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
ThreadingHTTPServer.request_queue_size = 256
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Adapter).serve_forever()
