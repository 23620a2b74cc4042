# Works with GNU make 3.81, the one that macOS ships.
PYTHON ?= python3
VENV ?= .venv
ARGS ?=
BIN = $(VENV)/bin
JOBS ?= 7
STAMP = $(VENV)/.installed
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Others' plugins take longer to import than most tests to run; those that a test is about are in its own process.
TESTS = PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(BIN)/pytest tests -p rap_conformance.plugin -p pytest_timeout -p xdist \
  -n $(JOBS) --dist loadgroup --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help certify test laws lint deep frameworks mutants steady build check-wheel lock docs clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' Makefile
	@echo "  ARGS=\"…\" hands options to pytest (certify, test); PYTHON=python3.12 picks the interpreter of $(VENV)."

certify: $(STAMP) ## Certify the embedded reference server; reports in reports/
	$(BIN)/pytest $(ARGS)

test: $(STAMP) ## Run this project's own tests, JOBS at a time
	$(TESTS) $(ARGS)

laws: $(STAMP) ## What holds for every requirement, scenario and mutant there is: seconds
	$(BIN)/pytest tests/test_laws.py tests/test_laws_imports.py tests/test_catalogue.py tests/test_docs.py \
	  tests/test_mutants.py tests/test_detection_power.py -q -m "not long and not deep" $(ARGS)

lint: $(STAMP) ## Style, types, imports between rooms, dead code, generated files up to date, house rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m rap_conformance.docs --check
	$(BIN)/python -m rap_conformance.detection.documents --check
	$(BIN)/python -m rap_conformance.contract --check
	$(BIN)/vulture
	$(BIN)/python scripts/house_rules.py

deep: $(STAMP) ## What is slow and rare: all variants and mutants, ten deleted scenarios, random seeds
	$(TESTS) -m deep $(ARGS)
	$(BIN)/python -m rap_conformance.detection --jobs $(JOBS)
	$(BIN)/python -m fixtures.servers.frameworks
	$(BIN)/python -m rap_conformance.detection.mutation --sample 40 --seed "$$(date +%s)" --jobs $(JOBS)
	$(BIN)/python -m rap_conformance.detection.kill_loop 100
	$(BIN)/python -m rap_conformance.detection.steady $(or $(N),10)

frameworks: $(STAMP) ## Certify servers by the habits of six frameworks, where their toolchains are
	$(BIN)/python -m fixtures.servers.frameworks $(ARGS)

mutants: $(STAMP) ## Is every fault caught by its own requirement and no other? ARGS="--third", names, …
	$(BIN)/python -m rap_conformance.detection $(ARGS)

steady: $(STAMP) ## Does a verdict ever wobble? make steady N=50
	$(BIN)/python -m rap_conformance.detection.steady $(or $(N),5) $(ARGS)

build: $(STAMP) ## Make sdist and wheel in dist/ (the wheel from the sdist)
	rm -rf dist
	$(BIN)/python -m build --no-isolation --outdir dist .

check-wheel: build ## Install the wheel into an empty environment and certify with it
	PYTHON=$(PYTHON) bash scripts/check-wheel.sh

lock: $(STAMP) ## Pin all dependencies anew in constraints.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-annotate --no-header --upgrade --group dev --output-file constraints.txt pyproject.toml

docs: $(STAMP) ## Write the generated documents and schemas anew
	$(BIN)/python -m rap_conformance.docs
	$(BIN)/python -m rap_conformance.detection.documents
	$(BIN)/python -m rap_conformance.contract

clean: ## Remove what can be made again (the environment stays)
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -path ./.venv -prune -o -path ./.git -prune -o -name __pycache__ -type d -exec rm -rf {} +
	find reports -mindepth 1 ! -name README.md -delete

# An environment that is there is brought up to date, not thrown away.
$(STAMP): constraints.txt pyproject.toml
	@test -x $(BIN)/python || command -v $(PYTHON) >/dev/null || \
	  { echo "rap-conformance needs Python 3.11 or newer, and there is no $(PYTHON): make PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rap-conformance needs Python 3.11 or newer, and $(PYTHON) is older: make PYTHON=python3.12" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r constraints.txt
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@
