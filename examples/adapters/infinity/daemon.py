"""The daemon's process, and the socket over which its clients speak to it."""

import json
import os
import re
import shlex
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

from model import provider
from storage import Storage


class Daemon:
    """One daemon with a HOME of its own; `command` starts it. `together`: see Storage."""

    def __init__(self, command, home, *, together):
        self.command, self.home, self.storage = shlex.split(command), home, Storage(home, together)
        self.storage.write("providers.json", provider(home))
        self.process = self.client = None
        self.heard = threading.Condition()
        self.echoes, self.heeded = {}, set()
        self.environment = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
        self.environment |= {"HOME": home, "INFINITY_WS_PORT": "0", "RUST_LOG": "warn,rap_client=info"}
        self.environment |= _one_certificate(home)

    def start(self):
        """Start it over what is persisted, and wake every session without saying anything in it."""
        self.process = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.DEVNULL)
        threading.Thread(target=self._watch, args=[self.process], daemon=True).start()
        self.client = self._connect()
        self._receive()  # the socket is there before the daemon is ready; its first message says that it is
        threading.Thread(target=self._listen, args=[self.client], daemon=True).start()
        self.heeded = set(self.storage.sessions)
        for name in self.storage.sessions:
            self._send({"TriggerCompaction": {"session_id": name}})

    def stop(self, how):
        """SIGTERM, or SIGKILL at once; a daemon that hangs in a boot does not heed the former."""
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.client.close()

    def callback_url(self):
        """It is the same for all calls, another one after each start, and nowhere but in the log."""
        log = (self.storage.folder / "daemon.log").read_text("utf-8", "replace")
        return "http://" + re.findall(r"callback server listening on Ok\((\S+)\)", log)[-1]

    def say(self, thread, text):
        """A user's message; comes back once it is taken up, which is before the model answers."""
        with self.heard:
            if thread not in self.heeded:  # nobody hears of a child thread who did not ask for it
                self._send({"Connect": {"session_id": thread, "thread_id": thread}})
                self.heeded.add(thread)
            before = self.echoes.get(thread, 0)
            self._send({"UserInput": {"session_id": thread, "text": text}})
            self.heard.wait_for(lambda: self.echoes.get(thread, 0) > before, 60)

    def _watch(self, process):
        status = process.wait()
        if self.process is process:  # nobody stopped it: then the adapter ends, too, and the suite sees that
            print(f"the daemon ended by itself: {status}", flush=True)
            os._exit(1)

    def _connect(self):
        while True:
            client = socket.socket(socket.AF_UNIX)
            try:
                client.connect(str(self.storage.folder / "daemon.sock"))
            except OSError:
                client.close()
                time.sleep(0.02)
            else:
                return client

    def _send(self, message):
        body = json.dumps(message).encode()
        self.client.sendall(struct.pack(">I", len(body)) + body)

    def _receive(self):
        size = struct.unpack(">I", self._exactly(4))[0]
        return json.loads(self._exactly(size))

    def _exactly(self, size):
        found = b""
        while len(found) < size:
            piece = self.client.recv(size - len(found))
            if not piece:
                raise EOFError
            found += piece
        return found

    def _listen(self, client):
        try:
            while self.client is client:
                message = self._receive()
                if isinstance(message, dict) and "UserInputEcho" in message:
                    thread = message["UserInputEcho"]["thread_id"]
                    with self.heard:
                        self.echoes[thread] = self.echoes.get(thread, 0) + 1
                        self.heard.notify_all()
        except (OSError, EOFError):
            return


def _one_certificate(home):
    """A session's boot reads all trusted certificates several times; with one it is three times as fast."""
    bundle = ssl.get_default_verify_paths().cafile
    if not bundle or not os.path.exists(bundle):
        return {}
    with open(bundle, encoding="utf-8", errors="replace") as file:
        first = re.search(r"-----BEGIN CERT.*?-----END CERT[A-Z]+-----\n", file.read(), re.DOTALL)
    if not first:
        return {}
    path = os.path.join(home, "certificate.pem")
    with open(path, "w", encoding="utf-8") as file:
        file.write(first[0])
    return {"SSL_CERT_FILE": path}
