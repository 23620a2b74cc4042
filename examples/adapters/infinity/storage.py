"""The daemon's files below HOME/.infinity: written as it would have left them before a crash, and read back.

A conversation is a session of its own, whose root thread has the conversation's id; `threads/ID.json` is its history,
`state/ID.state.json` its subscriptions. Events of a subscription are in child threads.
"""

import json
import pathlib
import shutil
import time

from model import NAME


class Storage:
    """The files. `given`: how many messages each thread had when it was given."""

    def __init__(self, home):
        self.home, self.folder, self.given = home, pathlib.Path(home) / ".infinity", {}
        self.folder.mkdir()

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")

    def read(self, name):
        """A file's value, None without the file. The daemon rewrites files in place, so half of one is read again."""
        for _ in range(50):
            try:
                return json.loads((self.folder / name).read_text("utf-8"))
            except FileNotFoundError:
                return None
            except ValueError:
                time.sleep(0.02)
        return None

    def configure(self, servers):
        """The tool servers of every session."""
        self.write("rap.json", {"tool_sets": [{"type": "toolset_server", "server_url": url} for url in servers]})

    def begin(self, threads):
        """Forget everything, and persist these conversations."""
        for name in ("threads", "state"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        entry = {"cwd": self.home, "shut_down": False, "idle": False, "archived": False}
        self.write("sessions.json", {"sessions": {thread["thread_id"]: entry for thread in threads}})
        self.given = {thread["thread_id"]: self._persist(thread) for thread in threads}

    def _persist(self, thread):
        name, subscriptions = thread["thread_id"], [call["tool_call_id"] for call in thread["subscriptions"]]
        history = [{"kind": "user", "content": {"type": "text", "text": "Do it."}}]
        for call in thread["subscriptions"]:
            history += [_call(call), _result(call["tool_call_id"], "subscribed")]
        history += [_call(call) for call in thread["pending"]]  # last, since only the last message can be pending
        messages = [[message, f"given-{number}"] for number, message in enumerate(history)]
        self.write(f"threads/{name}.json", {"messages": messages, "compaction_summaries": []})
        self.write(f"threads/{name}.meta.json", _meta(name))
        if subscriptions:
            known = {"processed_tool_call_ids": subscriptions, "subscriptions": subscriptions}
            self.write(f"state/{name}.state.json", {"processed_message_ids": [], "metadata": None, **known})
        return len(messages)

    def state(self):
        """Every conversation, and every child thread that was opened for an event."""
        found = []
        for name in self.given:
            found.append(self._thread(name))
            for child in (self.read(f"threads/{name}.meta.json") or {}).get("children", []):
                if (self.read(f"threads/{child}.meta.json") or {}).get("is_subscription_event"):
                    found.append({**self._thread(child), "parent": name})
        return {"threads": found}

    def _thread(self, name):
        messages = [pair[0] for pair in (self.read(f"threads/{name}.json") or {"messages": []})["messages"]]
        state = self.read(f"state/{name}.state.json") or {}
        calls = {m["call"]["id"]: m["call"]["function"] for m in messages if m["kind"] == "tool_call"}
        tools = {call: function["name"] for call, function in calls.items()}
        last = [m["call"]["id"] for m in messages[-1:] if m["kind"] == "tool_call"]
        waits = [call for call in last if call not in state.get("processed_tool_call_ids", [])]
        injected = []
        for message in messages[self.given.get(name, 0) :]:
            if message["kind"] == "subscription_event":
                injected.append(_outcome(message["tool_call_id"], "subscription_event", message))
            elif message["kind"] == "tool_result" and tools.get(answers := message["result"]["id"]) == _EVENT:
                event_of = calls[answers]["arguments"]["original_tool_call_id"]
                injected.append(_outcome(event_of, "subscription_event", message))
            elif message["kind"] == "tool_result" and tools.get(answers) != _SPAWN:
                injected.append({**_outcome(answers, "tool_result", message), "final": False})
        return {
            "thread_id": name,
            "pending": [call for call in waits if tools[call] != _EVENT],
            "subscriptions": state.get("subscriptions", []),
            "injected": injected,
        }


_EVENT, _SPAWN = "receive_event__injected", "spawn_thread"
"""Calls that nobody made, with which a child thread begins: to be told why it is there, and then the event."""


def _outcome(call, kind, message):
    texts = [part.get("text", "") for part in message["result"]["content"]]
    return {"tool_call_id": call, "kind": kind, "text": "".join(texts)}


def _call(call):
    function = {"name": call["tool"], "arguments": {}}
    empty = {"call_id": None, "signature": None, "additional_params": None}
    return {"kind": "tool_call", "call": {"id": call["tool_call_id"], "function": function, **empty}}


def _result(call, text):
    content = [{"type": "text", "text": text}]
    return {"kind": "tool_result", "result": {"id": call, "call_id": None, "content": content}}


def _meta(name):
    return {
        "parent_thread_id": None,
        "root_thread_id": name,
        "spawn_message_order": None,
        "spawn_tool_call_id": None,
        "closed": False,
        "is_subscription_event": False,
        "title": None,
        "is_compaction": False,
        "children": [],
        "total_tokens_used": 0,
        "last_updated": "2026-07-01T00:00:00Z",
        "selected_model": NAME,
    }
