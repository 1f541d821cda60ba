# Every target stands alone: it makes .venv, installs what it needs, and does its job.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
GROUPS_demo := --group demo
GROUPS_test := --group test
GROUPS_backends := --group test --group torch --group jax
GROUPS_check := --group test --group check --group demo
GROUPS_bench := --group bench

.PHONY: demo test test-backends check lint types doctest wheel bench stress clean

demo: .venv/.demo
	$(BIN)/python examples/temperatures/demo.py

test: .venv/.test
	$(BIN)/python -m pytest -n 2

# Apart from the other tests, since torch and jax are large.
test-backends: .venv/.backends
	$(BIN)/python -m pytest -n 2 tests/array tests/digests tests/caching/test_values.py

check: lint types doctest wheel

lint: .venv/.check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYTHONPATH=.:storage $(BIN)/lint-imports

types: .venv/.check
	$(BIN)/mypy

doctest: .venv/.check
	LAZYCACHE_DIR=$$(mktemp -d) $(BIN)/python -m pytest -q --doctest-modules lazycache storage/lazycache_storage \
		--ignore=lazycache/digests/libraries/torch_types.py

wheel: .venv/.check
	$(BIN)/python tools/check_wheel.py

bench: .venv/.bench
	$(BIN)/python -m benchmarks

stress: .venv/.test
	LAZYCACHE_STRESS=long $(BIN)/python -m pytest -n 2 tests/stress tests/crash tests/gc --timeout=3600

clean:
	rm -rf .venv dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lazycache needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade "pip>=25.1"

# A group of dependencies is installed again when pyproject.toml changes.
.venv/.%: pyproject.toml | .venv/bin/python
	$(PIP) --editable . $(GROUPS_$*)
	$(BIN)/python -m compileall -q lazycache storage/lazycache_storage
	touch $@
