#!/usr/bin/env bash
# The certifying step of action.yml: options from the environment, outputs for later steps, the suite's own exit code.
set -euo pipefail

command=("$RUNNER_TEMP/rap-conformance/bin/rap-conformance" check)
give() { if [ -n "$2" ]; then command+=("$1" "$2"); fi; }
give --server-url "${RAP_SERVER_URL:-}"
give --server-cmd "${RAP_SERVER_CMD:-}"
give --config "${RAP_CONFIG:-}"
give --baseline "${RAP_BASELINE:-}"
give --level "${RAP_LEVEL:-}"
give --profile "${RAP_PROFILE:-}"
give --subject "${RAP_SUBJECT:-}"
give --report-dir "${RAP_REPORT_DIR:-reports}"
if [ -n "${RAP_AUTHORIZATION:-}" ]; then command+=(--auth-header "Authorization: env:RAP_AUTHORIZATION"); fi
if [ "${RAP_STRICT:-false}" = true ]; then command+=(--strict); fi
while IFS= read -r argument; do
  if [ -n "$argument" ]; then command+=("$argument"); fi
done <<<"${RAP_ARGUMENTS:-}"

status=0
"${command[@]}" || status=$?

reports=${RAP_REPORT_DIR:-reports}
verdict=incomplete
if [ -f "$reports/report.json" ]; then
  verdict=$("$RUNNER_TEMP/rap-conformance/bin/python" -c \
    'import json, sys; print(json.load(open(sys.argv[1], encoding="utf-8"))["verdict"])' "$reports/report.json")
fi
badge=""
if [ -f "$reports/badge.json" ]; then badge=$reports/badge.json; fi
{
  echo "verdict=$verdict"
  echo "report-dir=$reports"
  echo "badge=$badge"
} >>"${GITHUB_OUTPUT:-/dev/null}"
exit "$status"
