# Every target does its own set-up. `make` alone lists the targets.
PYTHON ?= python3
EXTRAS := torch,plots,report,boosting,dask,pyomo,scip,fast,docs,test,dev
JOBS   ?= 2
SEED   ?= 0
MODELS ?= 150
BIN    := .venv/bin
STAMP  := .venv/.installed
# The other environments are without the tools of `make check`. The newest lack torch
# too, most of whose builds are of gigabytes; the oldest have the one that is pinned.
LIGHT  := plots,report,boosting,dask,pyomo,scip,test
NEWEST ?= 3.12 3.13

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLBACKEND := Agg
export NO_MKDOCS_2_WARNING := 1

.PHONY: help setup demo test check slow oldest newest newest-on docs package bench fuzz clean
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
	@$(BIN)/check-jsonschema -q --builtin-schema vendor.github-workflows \
	  .github/workflows/*.yml

slow: setup ## the statistical tests of every guarantee
	@$(BIN)/python -m pytest -q -n $(JOBS) -m slow

# What old releases use of others was deprecated since; and CVXPY 1.9.2 learns the shape
# of a sum by adding up memory with anything in it. Neither is ours.
OLD := -W ignore::DeprecationWarning \
  -W "ignore:invalid value encountered in reduce:RuntimeWarning" \
  -W "ignore:overflow encountered in reduce:RuntimeWarning"

oldest: .venv-oldest/.installed ## the tests on the oldest versions that are allowed
	@.venv-oldest/bin/python -m pytest -q -n $(JOBS) $(OLD)

.venv-oldest/.installed: pyproject.toml constraints.txt constraints-oldest.txt
	@test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	@echo "Installing into .venv-oldest (a few minutes the first time)"
	@.venv-oldest/bin/python -m pip install -qq -c constraints-oldest.txt \
	  -e ".[$(LIGHT)]" "$$(grep '^torch==' constraints.txt)"
	@touch $@

newest: ## the tests on the newest versions, on Python 3.12 and 3.13 where installed
	@tried=; for version in $(NEWEST); do \
	  if PYENV_VERSION=$$version python$$version -c "" 2>/dev/null; then \
	    $(MAKE) -s newest-on VERSION=$$version ON=python$$version || exit 1; tried=yes; \
	  else echo "Python $$version is not installed: skipped."; fi; done; \
	test -n "$$tried" || $(MAKE) -s newest-on VERSION=running ON=$(PYTHON)

# PYENV_VERSION matters only where python3.x is one of pyenv's.
newest-on: VENV = .venv-newest-$(VERSION)
newest-on:
	@test -x $(VENV)/bin/python || PYENV_VERSION=$(VERSION) $(ON) -m venv $(VENV)
	@echo "Installing into $(VENV) (a few minutes the first time)"
	@$(VENV)/bin/python -m pip install -qq --upgrade --upgrade-strategy eager \
	  -e ".[$(LIGHT)]"
	@$(VENV)/bin/python -m pytest -q -n $(JOBS) --doctest-ignore-import-errors

docs: setup ## pictures, gallery, reference, every snippet, and the site in build/site
	@$(BIN)/python docs/scripts/badges.py
	@$(BIN)/python docs/scripts/figures.py
	@$(BIN)/python docs/scripts/page_figures.py
	@$(BIN)/python docs/scripts/gallery.py
	@$(BIN)/python docs/scripts/reference.py
	@$(BIN)/python -m pytest -q tests/docs
	@$(BIN)/mkdocs build --strict --quiet --clean
	@$(BIN)/python docs/scripts/links.py build/site

package: setup ## build sdist and wheel into dist/ and check them
	@$(BIN)/python -m pip install -qq -c constraints.txt build twine
	@rm -rf dist && $(BIN)/python -m build --outdir dist .
	@$(BIN)/python -m twine check --strict dist/*

bench: setup ## policies next to raw Clarabel, CVXPY and others: BENCH="--quick"
	@$(BIN)/sublevel bench $(BENCH)
	@$(BIN)/python bench/import_time.py

fuzz: setup ## random models against an oracle of our own: SEED=0 MODELS=150 JOBS=2
	@$(BIN)/python -m fuzz --seed $(SEED) --models $(MODELS) --jobs $(JOBS)

clean: ## remove everything the other targets made
	rm -rf .venv .venv-oldest .venv-newest-* build dist src/*.egg-info \
	  .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
	find src tests bench docs fuzz -name __pycache__ -type d -prune -exec rm -rf {} +
