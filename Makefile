# `make demo`: from nothing to tables, figures and a report. `make test`: the tests. Both make .venv first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STUDY := results/scenes
SNAKEMAKE := $(BIN)/python -m snakemake
DEPENDENCIES := pyproject.toml envs/constraints.txt
INSTALLED := $(VENV)/installed

.PHONY: demo report docs test test-slow test-slurm lint format smoke help
.DEFAULT_GOAL := help

help:
	@echo "make demo       the default study: tables, figures and an HTML report (about ten minutes on two cores)"
	@echo "make test       the tests (under three minutes)"
	@echo "make test-slow  the tests that run whole studies"
	@echo "make test-slurm the tests on a cluster: a SLURM of two nodes on this machine, installed by apt (root) and gone afterwards"
	@echo "make smoke      every rule once, at the smallest sizes"
	@echo "make docs       the documentation as a site, site/index.html; needs no network"
	@echo "make lint       what format and lint tools say;  make format  lets them mend it"

$(INSTALLED): $(DEPENDENCIES)
	@"$(PYTHON)" -c 'import sys; sys.exit("hnclip needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": run make PYTHON=/path/to/python3.11" if sys.version_info < (3, 11) else 0)'
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) (several GB with torch; once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --progress-bar off -c envs/constraints.txt -e ".[dev]"
	@touch $(INSTALLED)
	@echo "Installed."

demo: $(INSTALLED)
	@$(SNAKEMAKE) --quiet host reason
	@$(MAKE) --no-print-directory report
	@$(BIN)/python -m hnclip.report.summary $(STUDY)/study.json $(STUDY)/tables

report: $(STUDY)/report.html

# Snakemake writes a report anew each time: only where a page that it shows is newer.
$(STUDY)/report.html: $(wildcard $(foreach part,tables figures galleries report,$(STUDY)/$(part)/*.html))
	@$(SNAKEMAKE) --quiet all --report $@

test: $(INSTALLED)
	@$(BIN)/python -m pytest -q -n auto --dist loadfile

test-slow: $(INSTALLED)
	@$(BIN)/python -m pytest -q -m slow -n auto --dist loadfile

test-slurm: $(INSTALLED)
	@tests/slurm/run.sh $(BIN)/python -m pytest -q -m slurm -n 3 --dist loadfile tests/slurm

smoke: $(INSTALLED)
	@$(SNAKEMAKE) --configfile workflow/studies/smoke.yaml --quiet host reason

docs: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Open site/index.html. With its search: $(BIN)/python -m http.server --directory site"

lint: $(INSTALLED)
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m snakefmt --check Snakefile rules workflow
	$(SNAKEMAKE) --lint

format: $(INSTALLED)
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .
	$(BIN)/python -m snakefmt Snakefile rules workflow
