"""action.yml: its steps run as GitHub would run them, and actionlint has nothing to say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import environment

ROOT = Path(__file__).resolve().parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INPUT = re.compile(r"\$\{\{ *inputs\.([\w-]+) *\}\}")


def steps(tmp_path: Path, given: dict[str, str], first: int = 0) -> tuple[list[int], dict[str, str]]:
    """Run every step from the first with these inputs; gives their exit codes and the outputs of the last."""
    inputs = {name: str(entry.get("default", "")) for name, entry in ACTION["inputs"].items()} | given
    output = tmp_path / "output.txt"
    output.touch()
    codes = []
    for step in ACTION["runs"]["steps"][first:]:
        chosen = {
            name: INPUT.sub(lambda match: inputs[match[1]], value)
            for name, value in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=tmp_path,
            env=environment(
                **chosen,
                RUNNER_TEMP=str(tmp_path / "temp"),
                GITHUB_ACTION_PATH=str(ROOT),
                GITHUB_OUTPUT=str(output),
                # What the suite depends on is here already; only the suite itself is installed.
                PIP_NO_DEPS="1",
                PIP_NO_BUILD_ISOLATION="false",
                PYTHONPATH=sysconfig.get_path("purelib"),
            ),
            timeout=300,
            check=False,
        )
        codes.append(done.returncode)
        if done.returncode:
            break
    said = [line.partition("=") for line in output.read_text("utf-8").splitlines()]
    return codes, {name: value for name, _, value in said}


@pytest.mark.long
@pytest.mark.skipif(shutil.which("bash") is None, reason="the action's steps are for bash")
def test_its_steps_certify_and_give_outputs(tmp_path: Path) -> None:
    (tmp_path / "temp").mkdir()
    reference = f'"{sys.executable}" -m rap_conformance serve --port {{port}}'
    given = {"python": sys.executable, "server-cmd": reference, "profile": "quick"}
    codes, said = steps(tmp_path, {**given, "arguments": "--no-auth\n--requirement=DSC*\n"})
    assert codes == [0, 0]
    assert said == {"verdict": "partial", "report-dir": "reports", "badge": ""}
    assert (tmp_path / "temp" / "rap-conformance").is_dir()

    broken = f"{reference} --mutant manifest-without-name"
    codes, said = steps(
        tmp_path,
        {**given, "server-cmd": broken, "arguments": "--no-auth\n--requirement=DSC*", "report-dir": "r2"},
        first=1,  # it is installed
    )
    assert codes == [1]
    assert said["verdict"] == "not-conformant"
    assert (tmp_path / "r2" / "junit.xml").exists()


def test_outputs_and_steps_belong_together() -> None:
    script = (ROOT / "scripts" / "action.sh").read_text("utf-8")
    for name, entry in ACTION["outputs"].items():
        assert f"steps.check.outputs.{name}" in entry["value"]
        assert f'echo "{name}=' in script
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"], "inputs go through the environment, never into the script"


def test_workflows_pass_actionlint() -> None:
    found = shutil.which("actionlint") or shutil.which("actionlint", path=os.environ.get("RAPC_GOBIN", ""))
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("actionlint is missing; .ci/run installs it")
        pytest.skip("actionlint is not installed")
    done = subprocess.run(
        [found, "-no-color", "-shellcheck="], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
