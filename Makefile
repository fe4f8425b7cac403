# `make run` shows the whole job on the sample data; `make test` runs the tests. Both make their own environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: run test clean

run: $(VENV)/.installed
	$(BIN)/distill run --teacher en

test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile

# Removed and made anew when the requirements change.
$(VENV)/.installed: setup.cfg pyproject.toml
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV) runs build dist *.egg-info
