# Each goal sets up what it needs by itself: a venv, the package, and bubblewrap.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
BASE   := $(VENV)/base-ready
READY  := $(VENV)/ready
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: help demo test fast check hooks bench soak pages format clean bubblewrap chromium engines

RULES  := tests/test_layout.py tests/test_language.py tests/test_docs.py tests/test_task_pages.py tests/test_version.py

help:
	@echo "make demo    run baseline, nop, oracle and a recorded agent on mini tasks, and print the table; SANDBOX=docker runs them in containers"
	@echo "make check   lint, types, and the rules of layout, language and docs"
	@echo "make fast    tests that need neither much time nor a browser: under 3 minutes on 2 cores"
	@echo "make test    all tests: about 25 minutes on 2 cores"
	@echo "make engines install Slurm and Docker for the tests of engines, as root; without them these are skipped"
	@echo "make hooks   run lint and types before every commit"
	@echo "make bench   measure speed and memory as ratios: about 15 minutes; ONLY=\"steps storage\" measures parts"
	@echo "make soak    tests with many repetitions: hours; ONLY=kills: up to an hour, ONLY=weights: half an hour, ONLY=cheats: a quarter of an hour, ONLY=replies, graders or draws: minutes; ONLY=oracles: two hours; ONLY=hard: many hours, fewer with ARGS='--hard-draws 20 --hard-tasks imdb'"
	@echo "make pages   write the measurements in task.toml to the tasks' pages in docs/tasks"
	@echo "make format  format the code"
	@echo "make clean   remove the venv and caches"

demo: $(BASE) $(if $(SANDBOX),,bubblewrap)
	@$(BIN)/mlagentbench demo $(if $(SANDBOX),--sandbox $(SANDBOX))

test: $(READY) bubblewrap chromium
	@$(PYTEST)

fast: $(READY) bubblewrap
	@$(PYTEST) -m "not slow and not browser and not live"

check: $(READY)
	@$(BIN)/ruff format --check src tests bench
	@$(BIN)/ruff check src tests bench
	@$(BIN)/mypy
	@$(BIN)/python -m pytest $(RULES)

hooks: $(READY)
	@$(BIN)/pre-commit install

bench: $(READY) bubblewrap
	@$(BIN)/python bench/bench.py $(ONLY)

soak: $(READY) bubblewrap
	@$(BIN)/python bench/soak.py $(if $(ONLY),--only $(ONLY)) $(ARGS)

pages: $(BASE)
	@$(BIN)/python bench/task_pages.py

format: $(READY)
	@$(BIN)/ruff format src tests bench
	@$(BIN)/ruff check --fix src tests bench

$(BASE): pyproject.toml
	@echo "setting up $(VENV) with the base package (about 0.6 GB on disk)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "MLAgentBench needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "cannot make a venv; on Debian and Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	@$(BIN)/python -m pip install --disable-pip-version-check --editable .
	@touch $(BASE)

$(READY): $(BASE)
	@echo "adding what tests and checks need to $(VENV) (about 0.8 GB more)"
	@$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

bubblewrap:
	@command -v bwrap >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing bubblewrap with apt-get"; \
		apt-get update -qq && apt-get install -y -qq bubblewrap >/dev/null; \
	else \
		echo "bubblewrap is missing; install it with your package manager: sudo apt-get install bubblewrap (or: dnf install bubblewrap)"; \
		exit 1; \
	fi

chromium:
	@command -v chromium >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing chromium with apt-get, for the tests of the report"; \
		apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null; \
	else \
		echo "chromium is missing: the report's tests in a browser are skipped; to have them: sudo apt-get install chromium (or: dnf install chromium)"; \
	fi

engines:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing Slurm and Docker with apt-get, for the tests of engines"; \
		tests/engines/slurm.sh install && tests/engines/docker.sh install; \
	else \
		echo "the tests of engines need root and Debian's slurm-wlm, munge, docker.io and mmdebstrap"; \
		exit 1; \
	fi

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
