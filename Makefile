# Two commands do everything: `make demo` and `make test`. Each sets up its own virtual environment.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# By uv, or else by pip, without bytecode: it is written for what is imported, when it is.
INSTALL := $(BIN)/python tools/install.py
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test fast lint docs figures notebooks screenshots browser catboost models mst language dpsgd endpoints mlflow clusters check-install lowest selftest evidence reprint release mutations hooks benchmarks experiments fashion text peers clean

$(VENV)/.created:
	$(PYTHON) -c "import sys; sys.exit('divulge needs Python 3.11 or later') if sys.version_info < (3, 11) else None"
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.created
	$(INSTALL) --editable '.[demo]'
	touch $@

$(VENV)/.developing: pyproject.toml $(VENV)/.created
	$(INSTALL) --editable '.[dev,endpoints-test,examples]'
	touch $@ $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/divulge demo --report report.html

# A browser comes while packages are installed, and mypy works beside the tests.
test:
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.developing browser
	@$(MAKE) --no-print-directory --jobs 2 lint fast

# Without plugins that the tests do not use; divulge's own by its name, else pytest rewrites all of divulge.
# A test that hangs is told with its stack, in place of a run that never ends.
fast: export PYTEST_DISABLE_PLUGIN_AUTOLOAD = 1
fast: $(VENV)/.developing
	$(BIN)/python -m pytest -p xdist.plugin -p pytest_timeout --timeout 600 --timeout-method thread -p divulge.integrations.pytest_plugin --numprocesses auto --dist worksteal -m 'not slow'

lint: $(VENV)/.developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, into site/; any warning is an error. It imports nothing of divulge: docstrings are read, not run.
docs: $(VENV)/.documenting
	$(BIN)/python docs/scripts/assemble.py
	$(BIN)/zensical build --clean --strict

$(VENV)/.documenting: pyproject.toml $(VENV)/.created
	$(INSTALL) --editable '.[docs]'
	touch $@

# The drawings and the picture of a report that the pages show; both are committed.
figures: $(VENV)/.installed
	$(BIN)/python docs/scripts/figures.py

# The notebooks that are pages of the site, committed as they ran.
notebooks: $(VENV)/.created
	$(INSTALL) --editable '.[notebooks]'
	$(BIN)/python docs/scripts/notebooks.py

screenshots: browser $(VENV)/.installed
	$(BIN)/python docs/scripts/screenshot.py

# The report is tested in a browser where there is one, or where Debian's can be installed.
browser:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		(apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium fonts-dejavu-core) >/dev/null \
		|| echo "No browser could be installed: the browser tests will be skipped."; \
	else echo "No Chromium found: the browser tests will be skipped."; fi

# All kinds of models from files, and every example.
models: $(VENV)/.developing
	$(BIN)/python -m pytest tests/models tests/test_examples.py

catboost: $(VENV)/.developing
	$(BIN)/python -m pytest tests/mechanisms -k "catboost or CatBoost"

# mbi brings jax, so its test is not part of `make test`.
mst: $(VENV)/.developing
	$(INSTALL) --editable '.[generators]'
	$(BIN)/python -m pytest tests/generators

# Language models, with Opacus for the experiment.
language: $(VENV)/.developing
	$(INSTALL) --editable '.[dpsgd]'
	$(BIN)/python -m pytest tests/models tests/generators tests/attacks tests/experiments/test_text_experiment.py

# Opacus is not part of `make test`.
dpsgd: $(VENV)/.developing
	$(INSTALL) --editable '.[dpsgd]'
	$(BIN)/python -m pytest tests/attacks tests/experiments/test_dp_sgd_experiment.py tests/experiments/test_gradient_canaries_experiment.py

# Models behind HTTP: hostile servers, MLflow's own, and the official clients of the other protocols.
endpoints: $(VENV)/.developing
	$(BIN)/python -m pytest tests/models -k endpoint

# Results in runs of MLflow, with a tracking server of its own; the server is not part of `make test`.
mlflow: $(VENV)/.developing
	$(INSTALL) --editable '.[mlflow]' mlflow
	$(BIN)/python -m pytest tests/integrations

# A real Dask cluster and a real Ray cluster on this machine; workers and nodes of them are killed.
clusters: $(VENV)/.developing
	$(BIN)/python -m pytest tests/work

# What would be published: built twice with the same bytes, checked, installed alone and with every extra.
check-install: $(VENV)/.created
	$(INSTALL) build twine uv
	$(BIN)/python tests/support/check_install.py --extras

# The core with the oldest versions that pyproject.toml allows.
LOWEST := .venv-lowest
lowest: $(VENV)/.created
	$(INSTALL) uv
	$(BIN)/python -m uv venv --quiet --clear --python $(BIN)/python $(LOWEST)
	$(BIN)/python -m uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct --requirement pyproject.toml --extra report 'pytest>=8.2.2' 'hypothesis>=6.100' 'pandas>=2.2.3' 'polars>=1.0' 'jsonschema>=4.18'
	PYTHONPATH=src $(LOWEST)/bin/python -m pytest -m 'not slow' tests/data tests/text tests/result tests/curves tests/bounds/test_betting.py tests/test_trials.py tests/test_claims.py tests/cli/test_cli.py tests/cli/test_leakage_command.py tests/games/canaries/test_planting.py

selftest: $(VENV)/.developing
	$(BIN)/divulge selftest --n-jobs -1
	$(BIN)/python -m pytest -m slow

# Games for the ledger in docs/evidence, for so many minutes; the next run goes on.
MINUTES ?= 60
evidence: $(VENV)/.developing
	$(BIN)/divulge selftest --into docs/evidence --minutes $(MINUTES) --n-jobs -1 --page docs/evidence/selftest.md

# Tables of docs/evidence printed again by the code of today, of one PAGE or of all, and pasted; only what is stale.
reprint: $(VENV)/.developing
	$(BIN)/python docs/scripts/reprint.py --stale $(PAGE)

# Nothing is released on a ledger or a table that is stale, or short of games, or on an installation that fails.
release: check-install
	$(BIN)/divulge selftest --show docs/evidence --complete
	$(BIN)/python docs/scripts/reprint.py --list

# Errors put into the code on purpose, in memory: which of them does the self-test convict?
mutations: $(VENV)/.developing
	$(BIN)/python tests/support/mutations.py

# Checks before every commit, by the tools of the virtual environment.
hooks: $(VENV)/.developing
	$(INSTALL) pre-commit
	$(BIN)/pre-commit install

benchmarks: $(VENV)/.developing
	$(BIN)/python benchmarks/bounds.py
	$(BIN)/python benchmarks/membership.py
	$(BIN)/python benchmarks/attribute.py
	$(BIN)/python benchmarks/lineup.py
	$(BIN)/python benchmarks/generators.py
	$(BIN)/python benchmarks/synthetic.py
	$(BIN)/python benchmarks/posterior.py
	$(BIN)/python benchmarks/leakage.py
	$(BIN)/python benchmarks/attacks.py
	$(BIN)/python benchmarks/work.py
	$(BIN)/python benchmarks/trees.py
	$(BIN)/python benchmarks/threads.py
	$(BIN)/python benchmarks/first_answer.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/throughput.py

# Every experiment of the papers in its quick form; `make fashion text dpsgd` first brings
# what those of pictures, of novels and of DP-SGD need. The full forms are in docs/evidence.
QUICK = $(BIN)/python experiments/$(1).py --quick
experiments: $(VENV)/.developing
	$(call QUICK,zero_run)
	$(call QUICK,real_shift)
	$(if $(PICTURES),$(call QUICK,vision_shift))
	$(call QUICK,label_privacy)
	$(call QUICK,label_figures)
	$(call QUICK,label_clicks) --learner boosting
	$(call QUICK,label_tables) --data happiness $(if $(PICTURES),fashion)
	$(if $(PICTURES),$(call QUICK,label_images))
	$(if $(NOVELS),$(call QUICK,label_text))
	$(call QUICK,panoramia)
	$(call QUICK,panoramia_helpers)
	$(if $(PICTURES),$(call QUICK,panoramia_images) --without-dp)
	$(call QUICK,synthetic_limits)
	$(call QUICK,mcmc_dp_est)
	$(if $(PICTURES),$(call QUICK,mcmc_images))
	$(call QUICK,per_datum)
	$(call QUICK,similar_record)
	$(call QUICK,dp_sgd) --plain
	$(call QUICK,few_canaries)
	$(call QUICK,dirac_canaries)
	$(if $(NOVELS),$(call QUICK,language_model) --epochs 4)
	$(if $(NOVELS),$(call QUICK,lineup_language))
	$(if $(OPACUS),$(call QUICK,gradient_canaries))
	$(if $(OPACUS),$(if $(NOVELS),$(call QUICK,panoramia_text)))
	$(BIN)/python experiments/label_limits.py --runs 1

# Fashion-MNIST as Debian ships it, unpacked without root; experiments/label_tables.py reads it.
FASHION := out/fashion-mnist
PICTURES = $(wildcard $(FASHION)/train-labels-idx1-ubyte.gz)
NOVELS = $(wildcard out/text/Rdata.rdb)
OPACUS = $(wildcard $(VENV)/lib/python3*/site-packages/opacus)
fashion: $(FASHION)/train-labels-idx1-ubyte.gz
$(FASHION)/train-labels-idx1-ubyte.gz:
	mkdir -p out/debian $(FASHION)
	cd out/debian && apt-get download dataset-fashion-mnist && dpkg -x dataset-fashion-mnist_*.deb .
	cp out/debian/usr/share/datasets/fashion-mnist/*.gz $(FASHION)/

# Jane Austen's novels as Debian ships them; experiments/panoramia_text.py reads them.
text: out/text/Rdata.rdb
out/text/Rdata.rdb:
	mkdir -p out/debian out/text
	cd out/debian && apt-get download r-cran-janeaustenr && dpkg -x r-cran-janeaustenr_*.deb .
	cp out/debian/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb out/text/

peers:
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip --disable-pip-version-check --quiet install --editable . jax-privacy==2.0.0 privacy-estimates
	.venv-peers/bin/python benchmarks/peers.py

clean:
	rm -rf $(VENV) $(LOWEST) .venv-peers build dist out site .cache report.html .mypy_cache .ruff_cache .pytest_cache .hypothesis
