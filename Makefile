# make demo    set up, then run the small workflow: real data, rules, tables, a report
# make results set up, then run config/published.yaml and compare with results/published
# make test    set up, then every check that continuous integration runs
# make test-faults  set up, then use thousands of damaged files, kill commands, fill disks: minutes
# make test-mutants set up, then change the code in small ways and print what no test notices: 30 minutes
# make test-kernels set up, then a few cases for each kernel: with plain numba, with every index checked, in Python
# make test-bounds  the tests of kernels with every index checked
# make test-numba   the tests of kernels on the oldest and the newest numba that is allowed
# make docs    set up, then build the documentation; a link that leads nowhere is an error
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
CORES ?= 2
PIP := --quiet --no-compile --disable-pip-version-check
# snakefmt looks for shfmt on the path
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: demo results test test-bounds test-faults test-kernels test-mutants test-numba docs setup lint bench lock clean
.DELETE_ON_ERROR:

demo: setup
	@start=`date +%s` && \
	$(BIN)/snakemake --configfile config/demo.yaml --cores $(CORES) --quiet host reason rules && \
	cat results/demo/tables/results.md && \
	echo && \
	echo "It took $$((`date +%s` - start)) seconds on $(CORES) cores. The report: results/demo/report/index.html"

# codex-m comes from no package index; targets go first, as these options take several values
WITH_CODEX := --config 'datasets=[wnrr, fb15k-237, codex-m, umls, kinships, nations]'
PUBLISHED := --configfile config/published.yaml --cores $(CORES) --quiet host reason rules \
  $(if $(wildcard $(KGAGG_MIRROR)/codex-m*),$(WITH_CODEX))

results: setup
	$(BIN)/snakemake $(PUBLISHED)
	@cat results/again/tables/comparison.md
	@$(BIN)/snakemake verify $(PUBLISHED)

test: lint
	$(BIN)/pytest -n $(CORES)
	$(MAKE) test-kernels

test-faults: setup
	KGAGG_FAULTS=11000 $(BIN)/pytest -s tests/faults

MINUTES ?= 30
test-mutants: setup
	$(BIN)/python tests/mutants/mutants.py --minutes $(MINUTES) $(ROOMS)

KERNEL_TESTS := tests/engine/test_engine.py tests/engine/test_semantics.py tests/mining/test_counting.py \
  tests/mining/test_native.py tests/graph tests/rules tests/strategies

# Without a compiler, a debugger and coverage work.
KERNEL_CHECKS := tests/engine/test_engine.py tests/mining/test_counting.py::test_counts_are_those_of_nested_loops \
  tests/mining/test_native.py::test_all_rules_with_their_counts tests/graph/test_graph.py::test_a_graph_is_what_its_files_say \
  tests/rules/test_reading.py::test_fast_and_slow_reader_agree tests/ranking/test_targets.py tests/strategies/test_formulas.py \
  tests/strategies/test_factors.py::test_steps_follow_the_gradient tests/strategies/test_sparse.py::test_steps_follow_the_gradient \
  tests/strategies/test_safran.py::test_one_sweep_is_each_threshold_alone
FEW := $(BIN)/pytest -q -n $(CORES) --hypothesis-profile few $(KERNEL_CHECKS)
test-kernels: setup
	KGAGG_JIT=plain NUMBA_CACHE_DIR=build/plain $(FEW)
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds $(FEW)
	NUMBA_DISABLE_JIT=1 $(FEW) -W ignore:overflow

# A computed -1 reads or writes outside its array and nothing says so; this run does.
test-bounds: setup
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=build/bounds $(BIN)/pytest -q -n $(CORES) $(KERNEL_TESTS)

NUMBA_VERSIONS ?= 0.61.0 0.68.1
test-numba: setup
	set -e; for version in $(NUMBA_VERSIONS); do \
	  $(PYTHON) -m venv build/numba-$$version; \
	  build/numba-$$version/bin/pip install $(PIP) numba==$$version pytest pytest-xdist hypothesis --editable ".[learned,rdf]"; \
	  KGAGG_JIT=plain NUMBA_CACHE_DIR=build/numba-$$version/cache \
	    build/numba-$$version/bin/pytest -q -n $(CORES) $(KERNEL_TESTS); \
	done

docs: setup
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs
	@echo "The documentation: build/docs/index.html"

setup: $(READY)

# Everything that is installed is in the lock, with its hash; setuptools comes first, because it
# builds what has no wheel.
$(READY): envs/requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "kgagg needs Python 3.11 or newer; this is `$(PYTHON) --version 2>&1`. Try: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@sed -n '/^setuptools==/,/[^\\]$$/p' envs/requirements.lock > .venv/setuptools.lock
	@echo "Installing the locked packages (about a minute)"
	@{ $(BIN)/pip install $(PIP) --require-hashes -r .venv/setuptools.lock && \
	   $(BIN)/pip install $(PIP) --no-build-isolation --require-hashes -r envs/requirements.lock; } || { \
	  echo "The packages could not be installed: is the package index (PyPI) reachable from here?" >&2; exit 1; }
	@$(BIN)/pip install $(PIP) --no-build-isolation --no-deps --editable .
	@touch $@

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/snakefmt --check --compact-diff Snakefile workflow
	$(BIN)/snakemake --lint --configfile config/demo.yaml
	$(BIN)/mypy

bench: setup
	set -e; for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file; done

# Renew the lock after a change of the dependencies in pyproject.toml (any network place of a
# package index is the user's, so none is written).
lock: setup
	$(BIN)/pip install $(PIP) pip-tools
	CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe \
	  --strip-extras --no-annotate --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  --extra workflow --extra docs --extra dev --output-file envs/requirements.lock pyproject.toml

clean:
	rm -rf .venv .snakemake results/demo build *.egg-info .pytest_cache .hypothesis .mypy_cache .ruff_cache
