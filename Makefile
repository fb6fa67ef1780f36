# The commands of this project. The first `make` installs what is needed, into .venv and .tools and nowhere else.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench lock clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

demo: $(INSTALLED) ## a rehearsed team builds a real program in a real sandbox, and is graded (no key needed)
	$(BIN)/leadhand demo

test: $(INSTALLED) ## all tests; ARGS="-k journal -x" goes to pytest
	$(BIN)/python -m pytest $(ARGS)

check: $(INSTALLED) ## format, lint, types, import directions
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED) ## rewrite the files as `make check` wants them
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(INSTALLED) ## our costs per step beside a bare loop's, on this machine
	$(BIN)/python -m benchmarks

lock: $(INSTALLED) ## resolve the dependencies of pyproject.toml anew; ARGS=--upgrade for newer versions
	.tools/uv/bin/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
	  --all-extras --group dev pyproject.toml --output-file requirements.lock $(ARGS)

clean: ## remove what `make` made, but not your runs
	rm -rf .venv .tools build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests scripts benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(INSTALLED): scripts/bootstrap.py scripts/uv.lock.txt requirements.lock pyproject.toml
	$(PYTHON) scripts/bootstrap.py
	@touch $@
