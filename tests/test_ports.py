"""Ports of servers that we start: no two runs are given one, and nobody else's answers count as theirs."""

from __future__ import annotations

import contextlib
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rap_conformance.network import ports
from rap_conformance.network.patience import Patience
from rap_conformance.network.ports import Lease
from rap_conformance.network.redaction import Redactor
from rap_conformance.network.supervisor import CommandFailed, Supervisor
from tests.support import ROOT, environment


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> range:
    """Four ports to choose from, for this process and those it starts by `elsewhere`."""
    first = Lease()
    first.close()
    begin = min(first.port, ports.BEYOND - 4)
    monkeypatch.setattr(ports, "FIRST", begin)
    monkeypatch.setattr(ports, "BEYOND", begin + 4)
    monkeypatch.setattr(ports, "_TRIES", 4)
    return range(begin, begin + 4)


def given_out() -> Iterator[Lease]:
    """All that there are to be had."""
    with contextlib.suppress(OSError):
        while True:
            yield Lease()


def elsewhere(few: range) -> int | None:
    """The port that another process is given; None if it is given none."""
    code = (
        "from rap_conformance.network import ports\n"
        f"ports.FIRST, ports.BEYOND, ports._TRIES = {few.start}, {few.stop}, 4\n"
        "try: print(ports.Lease().port)\n"
        "except OSError: pass\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True)
    return int(done.stdout) if done.stdout.strip() else None


def test_a_port_is_given_once_even_while_nobody_listens_there(few: range) -> None:
    leases = list(given_out())
    given = [lease.port for lease in leases]
    assert len(set(given)) == len(given) >= 1
    assert elsewhere(few) is None
    leases[0].close()
    assert elsewhere(few) == given[0]
    for lease in leases:
        lease.close()


def test_a_port_where_somebody_listens_is_not_given(few: range) -> None:
    listening = []
    for port in few:
        taken = socket.socket()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        listening.append(taken)
    with pytest.raises(OSError, match="no free port"):
        Lease()
    for taken in listening:
        taken.close()


def test_a_command_whose_port_somebody_took_is_not_started() -> None:
    command = shlex.join([sys.executable, "-c", "import time; time.sleep(60)", "{port}"])
    supervisor = Supervisor(Patience(), Redactor(), command)
    try:
        with socket.create_server(("127.0.0.1", supervisor.port)):
            with pytest.raises(CommandFailed, match=f"somebody else listens on its port {supervisor.port}"):
                supervisor.start(lambda: True)
            assert supervisor.starts == 0
    finally:
        supervisor.close()
