# make demo   the main job on bundled data, with its report as a page to look at
# make demo-collect  a collector, a relay and 200,000 simulated clients on this machine
# make demo-watch  a simulated year of daily tables in about a minute, with its report
# make test   the whole test suite
# make cover  the unit and property tests, with a floor under the share of lines that they run
# make soak   real runs under random signals for five minutes (SECONDS=n for another time)
# make lint   style, format and types
# make bench  speed and memory against other programs
# make keys   keys found without counts, beside OpenDP and PipelineDP (docs/keys.md; takes minutes)
# make peers  tables beside those of other libraries (docs/peers.md; takes minutes); make peers-full also on 20 million rows
# make experiments  what the papers claim, measured again at small sizes, under build/experiments (some 20 minutes)
# make experiments-full  the same at the sizes of the papers (hours), kept in experiments/ and docs/claims.md
# make docs   the documentation as pages to read in a browser, under build/docs (needs no network to be read)
# make dist   wheel and sdist under dist/, with docs, proofs and changelog inside
# make lock   pin the newest dependencies (takes minutes; never part of the others)
#
# Every target sets itself up: Python 3.11 or newer, make and the package index are enough. The lock files are whole,
# so pip resolves nothing (--no-deps): otherwise it looks at releases newer than the lock, which have no hash here.

PYTHON := $(shell for each in python3.11 python3; do \
	$$each -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$each && break; done)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
COMPILE := $(VENV)-lock/bin/pip-compile --quiet --generate-hashes --no-emit-index-url \
	--no-emit-trusted-host --no-emit-find-links --no-header --no-annotate --strip-extras --allow-unsafe

DEMO := build/demo.html
AXE := tests/browser/node_modules/axe-core/axe.min.js
CLIENT := clients/browser/node_modules/.package-lock.json

.PHONY: demo demo-collect demo-watch test cover soak lint bench keys peers peers-full experiments experiments-full docs dist lock clean

demo: $(VENV)/runtime
	@mkdir -p $(dir $(DEMO))
	@echo "The first run compiles the counting loops: a few seconds."
	$(BIN)/hushcount top examples/searches.parquet --column query --epsilon 1 --delta 1e-8 --limit 20 --table \
		--report $(DEMO)
	@echo "The report of this table is $(CURDIR)/$(DEMO): open it in a browser."

# The service's libraries are among those of the tests.
demo-collect: $(VENV)/dev
	$(BIN)/python examples/demo_collect.py

demo-watch: $(VENV)/runtime
	$(BIN)/python examples/watch_year.py build/watch

test: $(VENV)/dev $(AXE) $(CLIENT)
	$(BIN)/python -m pytest -n 2

# The floor is fail_under in pyproject.toml.
cover: $(VENV)/dev
	$(BIN)/python -m pytest -n 2 tests/unit tests/property --cov --cov-report=term

soak: $(VENV)/dev
	$(BIN)/python -m tests.soak $(or $(SECONDS),300)

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/dev
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.watch
	$(BIN)/python -m benchmarks.ledger

keys: $(VENV)/dev $(VENV)-peers/opendp/made $(VENV)-peers/pipelinedp/made
	$(BIN)/python experiments/keys/compare.py

OTHERS := $(foreach each,opendp pipelinedp pure_ldp tumult,$(VENV)-peers/$(each)/made)

peers: $(VENV)/dev $(OTHERS)
	$(BIN)/python -m benchmarks.peers

peers-full: $(VENV)/dev $(OTHERS)
	$(BIN)/python -m benchmarks.peers --full

PAPERS := lebeda2023 holland2025 bassily2020 biswas2024 cohen2021

experiments: $(VENV)/dev
	@for each in $(PAPERS); do $(BIN)/python -m experiments.$$each.run --folder build/experiments/$$each || exit 1; done
	@echo "The results are in $(CURDIR)/build/experiments: open a README.md there beside the one of experiments/."

experiments-full: $(VENV)/dev
	@for each in $(PAPERS); do $(BIN)/python -m experiments.$$each.run --size full || exit 1; done
	$(BIN)/python -m experiments.papers

# Made from a copy of the pages, to which the references of commands and names are added.
docs: $(VENV)/docs
	@rm -rf build/site && mkdir -p build/site && cp -r docs build/site/docs && ln -s ../../experiments build/site/experiments
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html build/site/docs build/docs
	@echo "The documentation is $(CURDIR)/build/docs/index.html: open it in a browser."

dist: $(VENV)/runtime
	@rm -rf build dist
	$(BIN)/python -c "from setuptools import build_meta as build; build.build_sdist('dist'); build.build_wheel('dist')"
	@rm -rf build

lock:
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip --quiet install pip-tools==7.6.2
	cd requirements && ../$(COMPILE) --upgrade --output-file runtime.txt runtime.in
	cd requirements && ../$(COMPILE) --upgrade --output-file dev.txt dev.in
	cd requirements && ../$(COMPILE) --upgrade --output-file docs.txt docs.in
	cd requirements && ../$(COMPILE) --upgrade --output-file smoke.txt smoke.in
	cd requirements && ../$(COMPILE) --upgrade --output-file oldest.txt oldest.in
	for each in opendp pipelinedp pure_ldp tumult; do \
		(cd requirements/peers && ../../$(COMPILE) --upgrade --output-file $$each.txt $$each.in) || exit 1; done

clean:
	rm -rf $(VENV) $(VENV)-lock $(VENV)-peers

$(VENV)/made:
	@test -n "$(PYTHON)" || { echo "hushcount needs Python 3.11 or newer, found none."; exit 1; }
	@echo "Setting up $(VENV), once."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# Other libraries pin versions that hushcount does not want, so each is by itself.
$(VENV)-peers/%/made: requirements/peers/%.txt
	@$(PYTHON) -m venv $(VENV)-peers/$*
	@$(VENV)-peers/$*/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --require-hashes \
		--requirement $<
	@touch $@

$(VENV)/runtime: $(VENV)/made requirements/runtime.txt pyproject.toml
	@$(PIP) install --no-deps --require-hashes --requirement requirements/runtime.txt
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

# The report is checked in a browser by axe-core; if npm cannot install it those tests are skipped, and say so.
$(AXE): tests/browser/package-lock.json
	@npm ci --silent --no-audit --no-fund --prefix tests/browser && touch $@ || \
		echo "npm did not install axe-core, so the report is not tested in a browser."

$(CLIENT): clients/browser/package-lock.json
	@npm ci --silent --no-audit --no-fund --prefix clients/browser && touch $@ || \
		echo "npm did not install the tools of the browser client, so it is not tested."

$(VENV)/dev: $(VENV)/runtime requirements/dev.txt
	@$(PIP) install --no-deps --require-hashes --requirement requirements/dev.txt
	@touch $@

# The references name what the extras hold, so all of them are there.
$(VENV)/docs: $(VENV)/dev requirements/docs.txt
	@$(PIP) install --no-deps --require-hashes --requirement requirements/docs.txt
	@touch $@
