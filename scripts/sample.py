"""Makes docs/sample anew: the reports of a run against a server with one fault, compared with one without.

    python scripts/sample.py

Run it when a report's form changes; a test says when that was forgotten.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "docs" / "sample"
MUTANT = "answers-cached"
TOKEN = "a-token-of-no-value"
CONFIGURATION = f"""
[auth]
headers = {{ Authorization = "Bearer {TOKEN}" }}
[timing]
grace = 5.0
[scenario.quick]
operation = "echo"
arguments = {{ text = "hello {{canary}}" }}
[scenario.pending]
operation = "wait"
arguments = {{ seconds = 3, text = "waited {{canary}}" }}
seconds = 3
[scenario.subscription]
operation = "watch"
arguments = {{ interval = 0.3 }}
final_arguments = {{ interval = 0.3, count = 2 }}
"""


def certify(folder: Path, name: str, *more: str) -> Path:
    """Certify the reference server, or a mutant of it; gives the folder of the reports."""
    reports = folder / name
    serve = ["rap-conformance", "serve", "--port", "{port}", "--token", TOKEN, "--rate-limit", "490", *more]
    words = [sys.executable, "-m", "rap_conformance", "check", "--server-cmd", " ".join(serve)]
    words += ["--profile", "quick", "--seed", "1", "--report-dir", str(reports)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    subprocess.run(words, cwd=folder, check=False, env={**os.environ, "PATH": path})
    return reports


def main() -> None:
    """Make all of it."""
    with tempfile.TemporaryDirectory(prefix="rapc-sample-") as name:
        folder = Path(name)
        (folder / "rap-conformance.toml").write_text(CONFIGURATION, "utf-8")
        wrong, right = certify(folder, MUTANT, "--mutant", MUTANT), certify(folder, "reference")
        for file in SAMPLE.iterdir():
            if (made := wrong / file.name).exists():
                shutil.copy(made, file)
        compare = [sys.executable, "-m", "rap_conformance", "compare", str(wrong), str(right)]
        subprocess.run([*compare, "-o", str(SAMPLE / "matrix.html")], check=True, cwd=folder)


if __name__ == "__main__":
    main()
