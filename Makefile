# Two commands do everything: `make demo` and `make test`. Each sets up its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo test lint selftest benchmarks peers clean

$(VENV)/.created:
	$(PYTHON) -c "import sys; sys.exit('divulge needs Python 3.11 or later') if sys.version_info < (3, 11) else None"
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.created
	$(PIP) install --editable .
	touch $@

$(VENV)/.developing: pyproject.toml $(VENV)/.created
	$(PIP) install --editable '.[dev]'
	touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/divulge selftest --quick

test: $(VENV)/.developing lint
	$(BIN)/python -m pytest

lint: $(VENV)/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

selftest: $(VENV)/.developing
	$(BIN)/divulge selftest

benchmarks: $(VENV)/.developing
	$(BIN)/python benchmarks/bounds.py

peers:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --editable . jax-privacy==2.0.0
	.venv-peers/bin/python benchmarks/peers.py

clean:
	rm -rf $(VENV) .venv-peers build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis
