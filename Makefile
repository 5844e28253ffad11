PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# uv takes a tenth of the time of pip. Neither compiles modules: most of what the packages bring is never imported.
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
# The certificates that pip, git and the browser trust, too.
export UV_SYSTEM_CERTS = 1
unexport PYTHONDONTWRITEBYTECODE
SOURCES := pyproject.toml CMakeLists.txt $(shell find src cpp -type f -not -path '*/__pycache__/*')

.PHONY: demo test test-slow test-site test-wheel test-extras test-arm64 ci-oldest ci-newest lint papers docs sanitize fuzz bench sdist wheels \
	conda release pins clean

demo: $(VENV)/.demo
	$(BIN)/coterie demo --out coterie-demo

# There are as many workers as cores: threads of BLAS beside them would wait for each other.
test test-slow fuzz: export OPENBLAS_NUM_THREADS = 1

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile

# What `make test` leaves out: kills and signals, and whatever else takes many processes, a browser or minutes.
test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile -m slow

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src $(BIN)/lint-imports --no-cache
	$(BIN)/python -m tests.support.words

# Every figure and table of the papers, small: does all of it run? Figures mean nothing then.
papers: $(VENV)/.test
	$(BIN)/python -m benchmarks.papers --all --quick

# The site, from a clean start: a warning is an error.
docs: $(VENV)/.docs
	rm -rf build/docs docs/reference/made docs/gallery docs/tutorials
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "The site is in build/docs/index.html."

# The built site: links, reachability, search, the browser's console, axe-core. Needs Chromium; run `make docs` first.
test-site: $(VENV)/.test
	test -f build/docs/index.html
	$(BIN)/python -m pytest -n auto -m slow tests/docs/test_site.py

# The kernels with sanitizers, both builds and both runs at a time: tests/sanitizers/run says what for.
sanitize: $(VENV)/.test
	tests/sanitizers/run $(BIN)/python address & address=$$!; \
	tests/sanitizers/run $(BIN)/python thread; thread=$$?; \
	wait $$address && exit $$thread

# FUZZ_INPUTS mutations of each input, others for each FUZZ_SEED. Problems are drawn at random, or from
# DRAWN=--hypothesis-seed=1.
fuzz: $(VENV)/.test
	FUZZ_INPUTS=$${FUZZ_INPUTS-500} COTERIE_DRAWS=$${COTERIE_DRAWS-1000} $(BIN)/python -m pytest -n auto $(DRAWN) \
		tests/fuzz tests/contracts/test_differential.py tests/contracts/test_state_machines.py

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.kmeans
	$(BIN)/python -m benchmarks.rows
	$(BIN)/python -m benchmarks.mixture
	$(BIN)/python -m benchmarks.convex
	$(BIN)/python -m benchmarks.papers total_variation

# Built twice: the bytes must be the same.
sdist: $(VENV)/.release
	rm -rf dist/*.tar.gz build/sdist
	$(BIN)/python -m build --sdist --no-isolation
	$(BIN)/python -m build --sdist --no-isolation --outdir build/sdist
	cmp dist/*.tar.gz build/sdist/*.tar.gz
	$(BIN)/python -m twine check --strict dist/*.tar.gz

# For Linux into dist; for macOS and Windows, which no test runs with here, into build/untested. Needs CPython 3.11 and 3.12.
wheels: $(VENV)/.release
	rm -f dist/*.whl
	$(BIN)/python -m release.wheels

# The wheel of this machine in an environment without compilers, with the tests of the sources.
test-wheel:
	rm -rf build/wheel-env
	$(PYTHON) -m venv build/wheel-env
	build/wheel-env/bin/pip install --quiet "$$($(PYTHON) -m release.wheel_of_this_machine)[test]"
	PATH=$(CURDIR)/build/wheel-env/bin CC=false CXX=false build/wheel-env/bin/python -m pytest -n auto --dist loadfile

# Each extra alone, with the wheel of this machine, in an environment of its own.
test-extras:
	$(PYTHON) -m release.extras "$$($(PYTHON) -m release.wheel_of_this_machine)"

# The tests with the oldest and with the newest versions of all requirements; PYTHON names an interpreter.
ci-oldest: resolution := lowest-direct
ci-newest: resolution := highest
ci-oldest ci-newest: ci-%: $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) build/$*
	$(BIN)/uv pip install --quiet --python build/$* --resolution $(resolution) '.[test]'
	OPENBLAS_NUM_THREADS=1 build/$*/bin/python -m pytest -n auto --dist loadfile

# Kernels and estimators on an emulated 64-bit ARM. Slow: release/arm64 runs any other part.
test-arm64: $(VENV)/.release
	rm -f dist/*-cp311-cp311-manylinux*aarch64.whl
	$(BIN)/python -m release.wheels linux-aarch64 --pythons 3.11
	PYTHON=$(BIN)/python release/arm64 dist/*-cp311-cp311-manylinux*aarch64.whl -m pytest -p no:cacheprovider \
		tests/centers tests/kmeans/test_exact.py tests/seeding tests/graphs/test_exact.py tests/test_instruction_sets.py

# Renders the conda recipe as rattler-build does; a build needs conda-forge.
conda: $(VENV)/.release
	$(BIN)/python -m release.conda

# Everything that must hold before an upload, which is left to you.
release: $(VENV)/.release
	$(BIN)/python -m release.ready
	$(BIN)/python -m pip_audit --skip-editable
	$(MAKE) lint test test-slow docs test-site conda sdist wheels test-wheel test-extras
	$(BIN)/python -m release.ready
	@echo "All holds. To upload: $(BIN)/python -m twine upload dist/*"

# The newest of what builds coterie and its wheels, with hashes of all files.
pins: $(VENV)/.release
	for group in build wheels; do $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--generate-hashes --group $$group --output-file release/$$group.txt || exit 1; done

clean:
	rm -rf $(VENV) build dist coterie-demo

$(BIN)/uv:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.7'

# What builds coterie, with no other version than these files.
$(VENV)/.build: $(BIN)/uv release/build.txt
	$(INSTALL) --require-hashes -r release/build.txt
	touch $@

# One stamp per set of extras, so that a command installs only what it needs and only when the sources changed.
$(VENV)/.demo: extras := cli,plot,report
# For this processor alone, which takes a third of the time. What tests or measures all instruction sets is installed anew.
$(VENV)/.demo: options := --config-settings=cmake.define.COTERIE_INSTRUCTION_SETS=native
$(VENV)/.test: extras := test
$(VENV)/.bench: extras := bench
$(VENV)/.demo $(VENV)/.test $(VENV)/.bench: $(VENV)/.build $(SOURCES)
	$(INSTALL) --reinstall-package coterie --no-build-isolation-package coterie $(options) '.[$(extras)]'
	$(if $(options),rm -f $(VENV)/.test $(VENV)/.bench)
	touch $@

# Beside what the tests need, without building coterie anew.
$(VENV)/.docs: $(VENV)/.test
	$(INSTALL) 'coterie[docs]'
	touch $@

$(VENV)/.release: $(VENV)/.test release/wheels.txt
	$(INSTALL) --require-hashes -r release/wheels.txt
	$(INSTALL) 'coterie[release]'
	touch $@

# The linters read the sources; mypy needs the libraries that these import, not coterie itself.
$(VENV)/.lint: $(BIN)/uv pyproject.toml
	$(INSTALL) 'ruff>=0.8' 'mypy>=1.13' 'import-linter>=2.1' 'numpy>=1.26' 'scikit-learn>=1.6'
	touch $@
