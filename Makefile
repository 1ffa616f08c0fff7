# Every target does its own set-up. `make` alone lists the targets.
PYTHON ?= python3
EXTRAS := torch,plots,report,boosting,dask,pyomo,test,dev
JOBS   ?= 2
SEED   ?= 0
MODELS ?= 150
BIN    := .venv/bin
STAMP  := .venv/.installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLBACKEND := Agg

.PHONY: help setup demo test check slow docs bench fuzz clean
.DEFAULT_GOAL := help

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: $(STAMP) ## make .venv and install the pinned versions

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing into .venv (a few minutes the first time)"
	@$(BIN)/python -m pip install -qq -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

demo: setup ## calibrate several models and print what was promised and what happened
	@$(BIN)/sublevel demo

test: check ## everything CI runs: style, types, architecture, tests, doctests, snippets
	@$(BIN)/python -m pytest -q -n $(JOBS)

check: setup ## style, types and the import contract
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports

slow: setup ## the statistical tests of every guarantee
	@$(BIN)/python -m pytest -q -n $(JOBS) -m slow

docs: setup ## redraw the figures, rewrite the reference, run every snippet
	@$(BIN)/python docs/scripts/figures.py
	@$(BIN)/python docs/scripts/reference.py
	@$(BIN)/python -m pytest -q tests/docs

bench: setup ## run every script in bench/
	@for script in $(wildcard bench/*.py); do \
	  echo "== $$script"; $(BIN)/python $$script || exit 1; done

fuzz: setup ## random models against an oracle of our own: SEED=0 MODELS=150 JOBS=2
	@$(BIN)/python -m fuzz --seed $(SEED) --models $(MODELS) --jobs $(JOBS)

clean: ## remove everything the other targets made
	rm -rf .venv build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache \
	  .hypothesis .import_linter_cache .coverage*
	find src tests bench docs fuzz -name __pycache__ -type d -prune -exec rm -rf {} +
