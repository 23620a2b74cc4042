"""A runtime so small that it fits beside its adapter: it waits, asks after a boot, and takes callbacks.

Standard library only. It forgets everything when its process ends, which yours must not.
"""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit


class Runtime:
    """Everything that conversations wait for, and what they were told."""

    def __init__(self):
        self.lock, self.pool, self.threads = threading.Lock(), ThreadPoolExecutor(128), {}

    def start(self, seconds):
        """Boot: ask about everything that is waited for, all at once, and block nobody."""
        for thread, state in self.threads.items():
            for call, base in [*state["pending"].items(), *state["subscriptions"].items()]:
                if base is not None:  # whoever does not know the server need not ask
                    self.pool.submit(self.check, base, thread, call, seconds)

    def check(self, base, thread, call, seconds):
        """Give a call up if its server says so, or does not know the endpoint."""
        url = urlsplit(base.rstrip("/") + "/tool_call_status")
        connect = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        question = json.dumps({"thread_id": thread, "tool_call_id": call})
        try:
            connection = connect(url.hostname, url.port, timeout=seconds)
            connection.request("POST", url.path, question, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
            connection.close()
        except (OSError, http.client.HTTPException):
            return  # no whole answer: unknown, the call stays
        if 400 <= status < 500 or (200 <= status < 300 and not says_alive(body)):
            self.take("pending", thread, call, "Error: the tool server gave this call up")
            self.take("subscriptions", thread, call, "Error: this subscription is lost", final=True)

    def take(self, kind, thread, call, text, final=False, opens=False):
        """Put an outcome into a conversation that waits for it; drop what is late, repeated or nobody's."""
        with self.lock:
            state = self.threads.get(thread, {kind: {}})
            if call not in state[kind]:
                return
            name = "tool_result" if kind == "pending" else "subscription_event"
            state["injected"].append({"tool_call_id": call, "kind": name, "text": text, "final": final})
            base = state[kind][call]
            if final or kind == "pending":
                del state[kind][call]
            if opens:
                state["subscriptions"][call] = base

    def callback(self, message):
        """What a tool server posts. Raises ValueError, KeyError or TypeError for what is no callback."""
        event = message["type"] == "subscription_event"
        texts = [message[name] for name in ("group_id", "tool_call_id" if event else "id", "text")]
        if message["type"] not in {"tool_result", "subscription_event"} or set(map(type, texts)) != {str}:
            raise ValueError("no callback")
        final, opens = event and message.get("final") is True, message.get("subscription") is True
        self.take("subscriptions" if event else "pending", *texts, final, opens)


def says_alive(body):
    """Whether this is a JSON object whose `alive` is true."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("alive") is True
