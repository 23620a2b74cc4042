"""Runs one command in a session of its own and kills it when the suite is gone.

Started by the supervisor as `python warden.py COMMAND ARG…` with a pipe as its
standard input that only the suite holds open. When the pipe ends, whatever
ended the suite, the whole process group is killed. Imports the standard
library only, so that it starts quickly.
"""

import os
import signal
import subprocess
import sys
import threading


def main(command: list[str]) -> int:
    """Run the command and return its exit status (128 + signal when a signal ended it)."""
    keep = sys.stdin.fileno()

    def watch() -> None:
        while os.read(keep, 1):
            pass
        if hasattr(os, "killpg"):
            os.killpg(os.getpgid(0), signal.SIGKILL)
        child.kill()

    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror or error}", file=sys.stderr)
        return 127
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()
    status = child.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)
