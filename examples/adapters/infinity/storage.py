"""The daemon's files below HOME/.infinity: written as it would have left them before a crash, and read back.

A conversation is a session of its own, whose root thread has the conversation's id, or (`together`) all are
child threads of one session. `threads/ID.json` is a thread's history, `state/ID.state.json` has its
subscriptions. Their events are in child threads.
"""

import json
import pathlib
import shutil
import time

from model import NAME

ROOT = "root-of-all"


class Storage:
    """The files. `given`: how many messages each thread had when it was given. `sessions`: by their ids."""

    def __init__(self, home, together):
        self.home, self.folder, self.together = home, pathlib.Path(home) / ".infinity", together
        self.given, self.sessions = {}, []
        self.folder.mkdir()

    def write(self, name, value):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(value), "utf-8")

    def read(self, name):
        """A file's value, None without the file. The daemon rewrites in place: half a file is read again."""
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
        entries = [{"type": "toolset_server", "server_url": url} for url in servers]
        self.write("rap.json", {"tool_sets": entries})

    def begin(self, threads):
        """Forget everything, and persist these conversations."""
        for name in ("threads", "state"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        names = [thread["thread_id"] for thread in threads]
        self.sessions = [ROOT] if self.together else names
        entry = {"cwd": self.home, "shut_down": False, "idle": False, "archived": False}
        self.write("sessions.json", {"sessions": dict.fromkeys(self.sessions, entry)})
        self.given = {thread["thread_id"]: self._persist(thread) for thread in threads}
        if self.together:
            self._persist({"thread_id": ROOT, "pending": [], "subscriptions": []})
            self.write(f"threads/{ROOT}.meta.json", _meta(ROOT, None, names))

    def _persist(self, thread):
        name, subscriptions = thread["thread_id"], [call["tool_call_id"] for call in thread["subscriptions"]]
        history = [{"kind": "user", "content": {"type": "text", "text": "Do it."}}]
        for call in thread["subscriptions"]:
            history += [_call(call), _result(call["tool_call_id"], "subscribed")]
        history += [_call(call) for call in thread["pending"]]  # only the last message can be
        messages = [[message, f"given-{number}"] for number, message in enumerate(history)]
        self.write(f"threads/{name}.json", {"messages": messages, "compaction_summaries": []})
        self.write(f"threads/{name}.meta.json", _meta(name, ROOT if self.together else None, []))
        if subscriptions:
            known = {"processed_tool_call_ids": subscriptions, "subscriptions": subscriptions}
            self.write(f"state/{name}.state.json", {"processed_message_ids": [], "metadata": None, **known})
        return len(messages)

    def state(self):
        """Every conversation, and every child thread that was opened for an event."""
        found = []
        for name in self.given:
            found.append(self._thread(name))
            found += [{**self._thread(child), "parent": name} for child in self._events(name)]
        return {"threads": found}

    def _events(self, name):
        """The child threads that were opened for events of a thread."""
        children = (self.read(f"threads/{name}.meta.json") or {}).get("children", [])
        metas = {child: self.read(f"threads/{child}.meta.json") or {} for child in children}
        return [child for child, meta in metas.items() if meta.get("is_subscription_event")]

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
"""Calls that nobody made, with which a child thread begins: it is told why it is there, then of the event."""


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


def _meta(name, parent, children):
    return {
        "parent_thread_id": parent,
        "root_thread_id": parent or name,
        "spawn_message_order": 0 if parent else None,
        "spawn_tool_call_id": f"spawned-{name}" if parent else None,
        "closed": False,
        "is_subscription_event": False,
        "title": None,
        "is_compaction": False,
        "children": children,
        "total_tokens_used": 0,
        "last_updated": "2026-07-01T00:00:00Z",
        "selected_model": NAME,
    }
