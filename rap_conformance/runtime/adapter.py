"""The suite's side of the adapter contract: asks, and holds every answer against schemas/adapter/.

What is wrong with an adapter is a plain sentence, and never a verdict on the runtime behind it.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any
from urllib.parse import urlencode

from rap_conformance.contract import Contract
from rap_conformance.contract.sentences import shown
from rap_conformance.engine.evidence import Exchange, Failure
from rap_conformance.engine.scenario import Refused
from rap_conformance.engine.verdict import EXIT_BAD_INPUT, EXIT_NOBODY
from rap_conformance.network.probe import Probe
from rap_conformance.network.supervisor import Supervisor, listens
from rap_conformance.places import place
from rap_conformance.protocol.messages import JSON, encode


class AdapterWrong(Refused):
    """The adapter answered against the contract, so the run ends; the message is one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message, EXIT_BAD_INPUT)


class AdapterSilent(Refused):
    """The adapter does not answer: it hangs or is gone, so the run ends; the message is one sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message, EXIT_NOBODY)


@cache
def adapter_contract() -> Contract:
    """The schemas of the adapter contract."""
    return Contract(place("schemas") / "adapter")


class Adapter:
    """The adapter of one run. `answer` is how long it may take for an answer, in seconds."""

    def __init__(self, probe: Probe, supervisor: Supervisor, answer: float) -> None:
        self._probe, self._supervisor, self._answer = probe, supervisor, answer
        self.url = f"http://127.0.0.1:{supervisor.port}"

    def ready(self) -> bool:
        """Whether the adapter answers HTTP at all."""
        if not listens("127.0.0.1", self._supervisor.port):
            return False
        return self._probe.send("GET", f"{self.url}/state", patient=False).status is not None

    def boot(self, body: dict[str, Any], within: float) -> tuple[Exchange, dict[str, Any]]:
        """Boot the runtime; gives what is particular about it. Raises Refused, as every method here does."""
        return self._ask("POST", "/boot", "boot_answer", body, within)

    def state(self) -> tuple[Exchange, dict[str, Any]]:
        """What the runtime waits for and what it injected."""
        return self._ask("GET", "/state", "state")

    def callback_url(self, thread: str, call: str) -> str:
        """Where a tool server posts the outcome of a call."""
        query = urlencode({"thread_id": thread, "tool_call_id": call}, errors="surrogatepass")
        found = self._ask("GET", f"/callback_url?{query}", "callback_url")[1]
        return str(found["callback_url"])

    def message(self, thread: str, text: str, within: float | None = None) -> Exchange:
        """A message of the user; answered once the conversation has taken it up."""
        return self._ask("POST", "/message", "acknowledgement", {"thread_id": thread, "text": text}, within)[
            0
        ]

    def shutdown(self, *, kill: bool = False) -> Exchange:
        """Stop the runtime, or end it without asking it; its state stays."""
        return self._ask("POST", "/shutdown", "acknowledgement", {"how": "kill"} if kill else {})[0]

    def gone(self) -> bool:
        """Whether nobody listens at the adapter's port any more."""
        return not self._supervisor.running or not listens("127.0.0.1", self._supervisor.port)

    def _ask(
        self,
        method: str,
        path: str,
        schema: str,
        body: dict[str, Any] | None = None,
        within: float | None = None,
    ) -> tuple[Exchange, dict[str, Any]]:
        what = f"{method} {path.partition('?')[0]}"
        limit = within or self._answer
        headers = JSON if body is not None else ()
        content = b"" if body is None else encode(body)
        exchange = self._probe.send(
            method, self.url + path, content, headers=headers, timeout=limit, patient=False
        )
        if exchange.status is None or exchange.failure is not None:
            raise AdapterSilent(self._epitaph(what, exchange, limit))
        if not 200 <= exchange.status < 300:
            said = _said(exchange)
            raise AdapterWrong(
                f"the adapter answered {what} with status {exchange.status}, not with 200{said}"
            )
        try:
            value = json.loads(exchange.response_body.decode("utf-8"))
        except (ValueError, RecursionError):
            raise AdapterWrong(
                f"the adapter answered {what} with what is not JSON{_said(exchange)}"
            ) from None
        if not adapter_contract().valid(schema, value):
            problem = adapter_contract().problems(schema, value)[0]
            raise AdapterWrong(
                f"the adapter's answer to {what} is against schemas/adapter/{schema}.json: {problem}"
            )
        return exchange, value

    def _epitaph(self, what: str, exchange: Exchange, limit: float) -> str:
        said = [line for line in self._supervisor.output().splitlines() if line.strip()][-3:]
        last = "; it printed: " + " | ".join(said) if said else ""
        if not self._supervisor.running:
            return f"the adapter ended (status {self._supervisor.status}) when it was asked {what}{last}"
        if exchange.failure is Failure.TIMEOUT:
            return f"the adapter did not answer {what} within {limit:g} s{last}"
        return f"the adapter gave no answer to {what} ({exchange.failure}){last}"


def _said(exchange: Exchange) -> str:
    if not exchange.response_body:
        return ", without a body"
    return f": {shown(exchange.response_body[:120].decode('utf-8', 'replace'))}"
