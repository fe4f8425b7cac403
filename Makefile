# `make run` shows the whole job on the sample data; `make test` checks and tests; `make docs` writes docs/settings.md
# and the tables of figures anew and builds site/; `make demo` builds a page that searches the sample, and `make wasm` compiles its program anew.
# Each makes its own environment.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# A process of the tests a core: more threads would wait for each other.
ONE_THREAD = OMP_NUM_THREADS=1 TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1

# What is imported is compiled once, not in every process, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run demo test packages hub docs lock wasm clean

run: $(VENV)/.installed
	$(BIN)/distill run --teacher en

demo: $(VENV)/.installed
	rm -rf runs/demo
	$(BIN)/distill index --model multi12-ngram --documents distill/data/sample/documents.jsonl --output runs/demo/kb
	$(BIN)/distill export multi12-ngram --format web --index runs/demo/kb --output runs/demo/site
	@echo "Serve it: $(BIN)/python -m http.server --directory runs/demo/site 8000, then open http://localhost:8000"

# The light installation is tried beside the types, and is still at it when the tests begin. It compiles this environment's
# Keras and TensorFlow first, as otherwise each process of the tests does it. The pages are built beside the tests, whose
# first wait more than they compute; what is wrong with them is said at the end.
test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python .ci/light_install.py & light=$$!; place=$$(mktemp -d); lines=$$(mktemp -d); pages=; \
		$(BIN)/python .ci/typecheck.py && { \
		$(BIN)/mkdocs build --strict --site-dir "$$place/site" > "$$place/said" 2>&1 & pages=$$!; \
		DISTILL_LINES=$$lines $(ONE_THREAD) $(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist loadfile \
		--no-loadscope-reorder && $(BIN)/python .ci/coverage_table.py $$lines; }; status=$$?; \
		[ -z "$$pages" ] || wait $$pages || { status=1; cat "$$place/said"; }; \
		wait $$light || status=1; rm -rf "$$place" $$lines; exit $$status

# What is committed, as wheel and sdist in dist/, tried on Python 3.10 and 3.13; `make packages PYTHONS="PATH PATH"` elsewhere.
packages:
	rm -rf dist
	$(PYTHON) .ci/packages.py --output dist $(addprefix --python ,$(PYTHONS))

# Folders for a hub of models, with their cards, of the encoders that ship; `make hub HUB_ENCODERS=multi12-static` of one.
HUB_ENCODERS = multi12-transformer multi12-six multi12-three multi12-ngram multi12-static
hub: $(VENV)/.installed-test
	for name in $(HUB_ENCODERS); do $(BIN)/distill export $$name --format sentence-transformers --output hub/$$name || exit; done

docs: $(VENV)/.installed-test
	$(BIN)/python .ci/settings_page.py
	$(BIN)/python benchmarks/figures.py
	$(BIN)/mkdocs build --strict

# Versions and hashes of what an installation brings, anew; commit the file after the tests have passed with them.
lock:
	$(PYTHON) .ci/lock.py

# From export/c and export/web; commit the file with what it is made from.
wasm: $(VENV)/.installed-test
	$(BIN)/python .ci/wasm.py

# By uv, in a third of the time; by pip where uv cannot be had, or does not reach what pip is told to install from.
INSTALL = install() { \
	$(BIN)/python -m pip install --quiet uv && UV_HTTP_TIMEOUT=20 $(BIN)/uv pip install --quiet --python $(BIN)/python "$$@" || \
	$(BIN)/python -m pip install --quiet --no-compile "$$@"; }; install

# Removed and made anew when the requirements change; by `make test` in one go where there is none.
$(VENV)/.installed: setup.cfg pyproject.toml
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[train]'
	touch $@

$(VENV)/.installed-test: setup.cfg pyproject.toml
	[ $(VENV)/.installed -nt setup.cfg -a $(VENV)/.installed -nt pyproject.toml ] || \
		{ rm -rf $(VENV) && $(PYTHON) -m venv $(VENV); }
	$(INSTALL) --editable '.[test]'
	touch $(VENV)/.installed $@

clean:
	rm -rf $(VENV) runs site build dist hub *.egg-info
