# All targets work on a new machine with Python 3.11 or later; `make reproduce` installs its own environment.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SAMPLE := $(VENV)/.set-up
DEV := $(VENV)/.set-up-dev
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export DO_NOT_TRACK := 1
# With this variable, every process compiles its imports again: 6 s of CPU time for a stage that checks contracts.
unexport PYTHONDONTWRITEBYTECODE

# uv installs much faster than pip; `make UV=` uses pip.
UV ?= $(shell command -v uv)
MAKE_VENV := $(if $(UV),$(UV) venv --quiet --seed --allow-existing --python $(PYTHON),$(PYTHON) -m venv)
INSTALL := $(if $(UV),$(UV) pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check) --no-deps

# A replay of the sample uses only the shipped ledger. OpenLineage events are disabled: nobody reads the replay's
# events, which would take 6 s of CPU time for all stages.
REPLAY := OPENLINEAGE_DISABLED=true BENCHLOOM_LEDGER=.benchloom/replay.sqlite benchloom run --replay --plain
RUN := $(if $(LIVE),benchloom run,$(REPLAY))

.PHONY: setup reproduce test check types rules docs look bench drills clean help

setup: $(SAMPLE) ## Install the sample's environment (other targets do this too)

$(SAMPLE): requirements.lock pyproject.toml
	@echo "setting up $(VENV); with the sample it is about five minutes and 3 GB in all" >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Benchloom needs Python 3.11 or later; set PYTHON=")'
	$(MAKE_VENV) $(VENV)
	$(INSTALL) --require-hashes -r requirements.lock
	@rm -rf benchloom.egg-info # Python would read an earlier build's metadata before the installed metadata
	$(INSTALL) --no-build-isolation --editable .
	@touch $@

# Packages that the sample does not need: all extras, and the development tools.
$(DEV): requirements-dev.lock $(SAMPLE)
	$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@

reproduce: $(if $(LIVE),$(DEV),$(SAMPLE)) ## Rebuild the sample from its shipped ledger, byte for byte; LIVE=1 calls the model
	@echo "rebuilding the sample: $(if $(LIVE),benchloom plan says how long it takes,about five minutes and 3 GB)" >&2
	@$(RUN)
	@benchloom report

# One worker more than cores, because many tests wait for a process or a server.
WORKERS ?= $(shell expr $$(nproc) + 1)

test: check ## Run the checks and all tests except the drills (failure tests)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

check: $(DEV) ## Check lint rules, format, types, import contracts and generated files
	@$(MAKE) --no-print-directory -j 2 --output-sync=target types rules

types: $(DEV)
	$(BIN)/mypy

rules: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/benchloom graph --check
	$(BIN)/python -m bench.bytes_page --check
	$(BIN)/python -m bench.parameters_page --check
	$(BIN)/python -m bench.prose
	$(BIN)/deptry benchloom flows tasks
	$(BIN)/deptry tests bench --ignore DEP002,DEP004
	$(BIN)/python -m bench.licences

docs: $(DEV) ## Build the documentation site in site/
	$(BIN)/python -m bench.commands_page
	$(BIN)/python -m bench.parameters_page
	$(BIN)/mkdocs build --strict --quiet

look: reproduce $(DEV) ## Test the pages and Prefect's UI in Chromium, and take screenshots
	$(BIN)/python -m tests.browser.look

bench: $(DEV) ## Run the benchmarks
	$(BIN)/python -m bench

drills: $(DEV) ## Run the drills: slow tests with kills, faults and full disks
	$(BIN)/pytest -m drill

clean: ## Remove the environment and all files that can be rebuilt
	-@test -x $(BIN)/benchloom && $(BIN)/benchloom stop
	rm -rf $(VENV) .benchloom .dvc/cache .dvc/tmp build *.egg-info
	rm -rf data/closed data/companies data/grammar data/longform data/ragcheck data/streambench data/tanq data/raw data/reports data/metrics data/plots data/.preview
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

help: ## Describe each target
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
