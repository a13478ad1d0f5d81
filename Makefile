# Everything below works on a fresh machine with Python 3.11 or later: `make reproduce` sets itself up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export DO_NOT_TRACK := 1

# A replay of the sample must stand on what ships with the project alone.
REPLAY := BENCHLOOM_LEDGER=.benchloom/replay.sqlite benchloom run --replay --plain
RUN := $(if $(LIVE),benchloom run,$(REPLAY))

.PHONY: setup reproduce test check look bench drills clean help

setup: $(STAMP) ## Make the environment and fetch the sample data (done by the other targets too)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Benchloom needs Python 3.11 or later; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/python -m tasks.sources.packages
	@touch $(STAMP)

reproduce: $(STAMP) ## Rebuild the sample dataset from its shipped ledger, to the byte; LIVE=1 asks the model
	@$(RUN)
	@benchloom report

test: check ## Run the checks and all tests but the drills
	$(BIN)/pytest -n auto --dist loadfile

check: $(STAMP) ## Lint, format, types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/benchloom graph --check

look: $(STAMP) ## Drive the pages and Prefect's UI in Chromium and take their pictures
	$(BIN)/python -m tests.browser.look

bench: $(STAMP) ## Measure what is measured, against its references
	$(BIN)/python -m bench

drills: $(STAMP) ## Run the slow, destructive proofs
	$(BIN)/pytest -m drill

clean: ## Remove the environment and everything that can be rebuilt
	-@test -x $(BIN)/benchloom && $(BIN)/benchloom stop
	rm -rf $(VENV) .benchloom .dvc/cache .dvc/tmp build *.egg-info
	rm -rf data/closed data/companies data/grammar data/ragcheck data/raw data/reports data/.preview
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

help: ## Say what each target does
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
