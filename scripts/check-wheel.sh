#!/usr/bin/env bash
# Installs the wheel into an empty environment and certifies the embedded reference server with it, from
# folders that have nothing to do with this repository. `make build` makes the wheel from the sdist, so
# both are judged.
#
#   scripts/check-wheel.sh            every way to run, with $PYTHON (python3)
#   scripts/check-wheel.sh --smoke    one run in the quick profile
#
# DIST is where the wheel is (dist).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
smoke=${1:-}
wheel=$(ls "${DIST:-$root/dist}"/rap_conformance-*.whl)
token=check-wheel-$$-$RANDOM
for name in $(compgen -e | grep -E '^(PYTHON|PYTEST|VIRTUAL_ENV)' || true); do unset "$name"; done

tmp=$(mktemp -d)
server=""
clean_up() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$tmp"
}
trap clean_up EXIT

say() { printf '\n--- check-wheel: %s\n' "$*"; }
die() { printf 'check-wheel: %s\n' "$*" >&2; exit 1; }

say "an empty environment with $("$python" --version), the versions of constraints.txt"
"$python" -m venv "$tmp/venv"
bin=$tmp/venv/bin
# As constraints, without their hashes: pip would ask for one of the wheel itself.
sed -n -e 's/ *\\$//' -e '/^[a-z0-9]/p' "$root/constraints.txt" > "$tmp/versions.txt"
"$bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$tmp/versions.txt" "$wheel"
"$bin/python" -m pip check

free_port() { "$bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

cat > "$tmp/scenarios.toml" <<'TOML'
[scenario.quick]
operation = "echo"
arguments = { text = "hello" }
[scenario.pending]
operation = "wait"
arguments = { seconds = 3 }
seconds = 3
[scenario.subscription]
operation = "watch"
arguments = { interval = 0.3 }
final_arguments = { interval = 0.3, count = 2 }
TOML

# expect EXIT "VERDICTS" COMMAND…: the exit code, and a report with one of the verdicts and enough in it.
expect() {
  local code=$1 verdicts=$2 got=0
  shift 2
  rm -rf reports
  RAP_TOKEN="Bearer $token" "$@" </dev/null > "$tmp/output" 2>&1 || got=$?
  tail -n 3 "$tmp/output"
  [ "$got" = "$code" ] || { cat "$tmp/output"; die "exit $got, expected $code: $*"; }
  "$bin/python" - "$verdicts" "$token" <<'PY' || { cat "$tmp/output"; die "the reports are not right: $*"; }
import json, pathlib, sys

verdicts, token = sys.argv[1].split(), sys.argv[2]
report = json.loads(pathlib.Path("reports/report.json").read_text("utf-8"))
by_verdict = {}
for each in report["requirements"]:
    by_verdict.setdefault(each["verdict"], []).append(each["code"])
print(report["verdict"], {verdict: len(codes) for verdict, codes in sorted(by_verdict.items())})
problems = []
if report["verdict"] not in verdicts:
    problems.append(f"the verdict is {report['verdict']}, expected {verdicts}")
if report["target"]["embedded"]:
    problems.append("the report says that the target was the embedded server")
if "conformant" in verdicts and "DSC001" not in by_verdict.get("pass", []):
    problems.append("DSC001 did not pass")
if "conformant" not in verdicts and "pass" in by_verdict:
    problems.append(f"passes without a server: {by_verdict['pass']}")
for verdict in ("fail", "error"):
    if "conformant" in verdicts and verdict in by_verdict:
        problems.append(f"{verdict}: {by_verdict[verdict]}")
for path in pathlib.Path("reports").iterdir():
    if token.encode() in path.read_bytes():
        problems.append(f"the credential is in {path}")
for name in ("report.html", "junit.xml"):
    if not pathlib.Path("reports", name).stat().st_size:
        problems.append(f"{name} is empty")
sys.exit("\n".join(problems) or 0)
PY
  ! grep -qF "$token" "$tmp/output" || die "the credential is in the output: $*"
}

header="Authorization: env:RAP_TOKEN"
common=(--auth-header "$header" --config "$tmp/scenarios.toml" --profile quick --max-time 240)
serve="$bin/rap-conformance serve --port {port} --token $token --state $tmp/state.sqlite --rate-limit 450"

mkdir "$tmp/empty" && cd "$tmp/empty"
say "--server-cmd, from an empty folder"
expect 0 "conformant" "$bin/rap-conformance" check --server-cmd "$serve" "${common[@]}"
if [ "$smoke" = --smoke ]; then say "passed (smoke)"; exit 0; fi

say "--server-url, from an empty folder"
port=$(free_port)
"$bin/rap-conformance" serve --port "$port" --token "$token" --rate-limit 450 > "$tmp/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do
  "$bin/python" -c "import socket; socket.create_connection(('127.0.0.1', $port), 1)" 2>/dev/null && break
  kill -0 "$server" 2>/dev/null || { cat "$tmp/server.log"; die "serve ended at once"; }
  sleep 0.2
done
url=http://127.0.0.1:$port
expect 0 "conformant partial" "$bin/rap-conformance" check --server-url "$url" "${common[@]}"
[ "$(ls -A)" = reports ] || die "check left more than reports/ behind: $(ls -A)"

say "--server-url, with nothing but a credential"
expect 0 "conformant partial" "$bin/rap-conformance" check --server-url "$url" --auth-header "$header" \
  --profile quick --max-time 240

say "from a folder with its own conformance/, tests/, conftest.py and pytest settings"
mkdir -p "$tmp/hostile/conformance" "$tmp/hostile/tests" && cd "$tmp/hostile"
echo 'raise RuntimeError("the conformance package of somebody else")' | tee conformance/__init__.py > conftest.py
echo 'raise RuntimeError("a test of somebody else")' | tee tests/__init__.py tests/test_a.py > tests/conftest.py
printf '[pytest]\naddopts = --nonsense\npython_files = nothing_*.py\ntestpaths = tests\n' > pytest.ini
printf '[tool.pytest.ini_options]\naddopts = "--nonsense"\n' > pyproject.toml
printf '[tool:pytest]\naddopts = --nonsense\n' > setup.cfg
echo 'nonsense = [' > schemathesis.toml
expect 0 "conformant partial" env PYTEST_ADDOPTS=--nonsense \
  "$bin/rap-conformance" check --server-url "$url" "${common[@]}"

say "pytest --pyargs, inside a project of one's own"
mkdir "$tmp/project" && cd "$tmp/project"
printf '[pytest]\n' > pytest.ini
expect 0 "conformant partial" "$bin/pytest" --pyargs rap_conformance --server-url "$url" \
  --rap-auth-header "$header" --rap-config "$tmp/scenarios.toml" --rap-profile quick --rap-max-time 240

say "the same with nobody at the URL"
kill "$server" && { wait "$server" 2>/dev/null || true; }
server=""
cd "$tmp/empty"
expect 6 "incomplete" "$bin/rap-conformance" check --server-url "$url" "${common[@]}"

say "passed"
