# keylake: `make demo` shows it, `make test` proves a change, `make test-slow` does the rest. Wanted on the machine: Python 3.11, a JDK 17 and make.

SHELL := /bin/sh
.SHELLFLAGS := -eu -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

JAVAC := $(if $(JAVA_HOME),$(JAVA_HOME)/bin/javac,javac)
BIN := .venv/bin
MAVEN := server_plugins/mvnw --file server_plugins/pom.xml --batch-mode --no-transfer-progress \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=warn
COUNT_TESTS := -Dorg.slf4j.simpleLogger.log.org.apache.maven.plugin.surefire=info
# Each worker has a server of its own, and takes tests from the other's end of the list when it has none left. A test
# that hangs ends its worker after so many seconds, with the stacks of its threads, and the others go on: an exception
# would not reach a thread that waits for a lock.
PYTEST := $(BIN)/python -m pytest --numprocesses=2 --dist=worksteal \
    -o faulthandler_exit_on_timeout=true -o faulthandler_timeout=300
QUICK := "not slow and not nightly"
# The tests of PART=core, pipelines or deletes; without it all of them.
TESTS_OF_core := sdk/keylake tests --ignore=tests/pipelines --ignore=tests/deletes
TESTS_OF_pipelines := sdk/keylake_pipelines tests/pipelines
TESTS_OF_deletes := tests/deletes
TESTS := $(TESTS_OF_$(PART))
# `make test-slow` runs each file of tests on one day of so many.
DAYS := 1
RANDOM_TESTS := tests/integration/branches/test_sequences.py tests/integration/reading/test_operations.py
JARS := sdk/keylake/jars
DIST := dist
RESOLVE := .build/uv/bin/uv pip compile --universal --upgrade --no-strip-extras --quiet --generate-hashes --no-emit-index-url \
    --no-emit-find-links --custom-compile-command "make lock" --output-file
JACOCO := 0.8.13
COVERED := -javaagent:$(CURDIR)/.build/jacoco/org.jacoco.agent-$(JACOCO)-runtime.jar=includes=io.keylake.*,destfile=$(CURDIR)/
JACOCO_REPORT := java -jar .build/jacoco/org.jacoco.cli-$(JACOCO)-nodeps.jar report
JAVA_CLASSES := $(patsubst %,server_plugins/%/target/classes,merge tables spark plain_deletes pipelines)

# Leaves the first Python that will do in $python.
FIND_PYTHON := python=; for name in python3.11 python3.12 python3.13 python3; do \
    if $$name -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then python=$$name; break; fi; \
  done; test -n "$$python"

# Directories are named as well as files: a deleted file changes its directory.
PLUGIN_SOURCES := $(shell find server_plugins -name target -prune -o \( -name pom.xml -o -path '*/src/main*' \) -print)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

## make demo       environment, plug-in build, and the main job on real data
.PHONY: demo
demo: environment build
	$(BIN)/python examples/12_flights.py

## make test       environment, plug-in build, and the tests that prove a change; PART=core, pipelines or deletes: those of one part
.PHONY: test
test: environment build .build/classes.jsa
	$(MAVEN) $(COUNT_TESTS) test
	$(PYTEST) -m $(QUICK) $(if $(PART),$(or $(TESTS),$(error PART=$(PART) is no part: core, pipelines or deletes)))

## make test-slow  the tests that take long; DAYS=4: a quarter of their files, each day another
.PHONY: test-slow
test-slow: environment build .build/classes.jsa clients flink kafka mariadb postgres notebooks .build/documents/.packages
	$(MAVEN) $(COUNT_TESTS) test -Dgroups=random -Dkeylake.runs=3
	$(PYTEST) -m "slow and not nightly" -o faulthandler_timeout=900 --days=$(DAYS)

## make coverage   make test once more, and the lines of each room of Python and Java that it ran
.PHONY: coverage
coverage: environment build .build/jacoco
	rm -f .build/coverage*
	JAVA_TOOL_OPTIONS="$(COVERED).build/coverage-junit.exec" $(MAVEN) test
	status=0; JAVA_TOOL_OPTIONS="$(COVERED).build/coverage-server.exec" COVERAGE_FILE=.build/coverage $(PYTEST) -m $(QUICK) \
	    --cov=keylake --cov=keylake_pipelines --cov-report=json:.build/coverage.json || status=$$?; \
	  $(JACOCO_REPORT) .build/coverage-junit.exec --csv .build/coverage-junit.csv $(patsubst %,--classfiles %,$(JAVA_CLASSES)); \
	  $(JACOCO_REPORT) .build/coverage-server.exec --csv .build/coverage-server.csv \
	    $(patsubst %,--classfiles %,$(wildcard $(JARS)/keylake-*.jar)); \
	  $(BIN)/python tests/coverage_of_rooms.py .build/coverage-junit.csv .build/coverage-server.csv .build/coverage.json; exit $$status

## make nightly    all of what the slow tests have some of: shapes and seeds of random runs, releases
.PHONY: nightly
nightly: environment build clients flink kafka mariadb moto mysql postgres yarn notebooks .build/documents/.packages
	$(MAVEN) $(COUNT_TESTS) test -Dgroups=random -Dkeylake.runs=80
	$(PYTEST) -m nightly -o faulthandler_timeout=900
	KEYLAKE_RUNS=20 $(PYTEST) -m "slow or nightly" -o faulthandler_timeout=7200 $(RANDOM_TESTS)

## make mutants    faults put into the code of commits and plans, one at a time: the simulator has to find each; SEEDS=10000
.PHONY: mutants
mutants: environment
	$(MAVEN) $(COUNT_TESTS) --projects tables --also-make test -Dtest=MutantsTest -Dkeylake.mutants=$(or $(SEEDS),10000) \
	    -Dsurefire.failIfNoSpecifiedTests=false

## make lint       formatting, style, types and nullness, Python and Java; the last commit's message
.PHONY: lint
lint: environment
	.ci/message
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/basedpyright
	$(MAVEN) --activate-profiles nullness spotless:check compile

## make format     apply the formatters
.PHONY: format
format: environment
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format --quiet .
	$(MAVEN) spotless:apply

## make build      the server's jars, into sdk/keylake/jars
.PHONY: build
build: $(JARS)/.built

## make wheel      three wheels, into dist: the client, pipelines, and the server's jars
.PHONY: wheel
wheel: environment build
	$(BIN)/python -m pip wheel . ./sdk/keylake_pipelines ./server_plugins --quiet --no-deps --no-build-isolation --wheel-dir $(DIST)

## make release    the wheels, their bills of materials (CycloneDX), the licences of what they need, and checksums, into dist
.PHONY: release
release: wheel .build/release/.packages
	test "$$(ls $(DIST)/*.whl | wc -l)" -eq 3  # wheels of another version would be part of the checksums
	rm -rf .build/shipped; $(BIN)/python -m venv --without-pip .build/shipped
	sed -n 's/ \\$$//; s/^\([a-z0-9-]*\)\[[a-z,-]*\]==/\1==/; /^[a-z0-9-]*==/p' sdk/requirements.lock >.build/shipped/locked.txt
	$(BIN)/python -m pip --python .build/shipped install --quiet --no-compile --constraint .build/shipped/locked.txt \
	    $(DIST)/*.whl "$$(ls $(DIST)/keylake-*.whl)[server,pipelines]"
	.build/release/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	    --output-file $(DIST)/python.cdx.json .build/shipped/bin/python
	.build/release/bin/pip-licenses --python .build/shipped/bin/python --format=markdown --output-file $(DIST)/licenses.md
	$(MAVEN) --activate-profiles release --projects release cyclonedx:makeBom -DoutputDirectory=$(abspath $(DIST)) -DoutputName=jars.cdx
	cd $(DIST) && sha256sum *.whl *.cdx.json licenses.md >SHA256SUMS

## make rooms      draw which rooms of the code need which, into sdk/docs
.PHONY: rooms
rooms: environment
	$(BIN)/python tests/rooms.py

## make bench      figures: all of them, or NAME=first; SCALE=0.1 makes a quick one; further words: python tests/benchmarks --help
.PHONY: bench
bench: environment build $(if $(filter pipelines,$(NAME)),flink kafka mariadb postgres) $(if $(filter fresh,$(NAME)),kafka)
	$(BIN)/python tests/benchmarks $(NAME) $(if $(SCALE),--scale=$(SCALE)) $(if $(ONLY),--workload=$(ONLY)) \
	    $(if $(QUESTION),--question=$(QUESTION)) $(if $(SYSTEM),--system=$(SYSTEM)) $(if $(HUDI),--with-hudi) \
	    $(if $(PART),--part=$(PART))

## make figures    the page of figures, from the results that `make bench` left
.PHONY: figures
figures: environment
	$(BIN)/python tests/benchmarks --page

## make site       the documents as a site, into .build/site
.PHONY: site
site: environment .build/documents/.packages
	rm -rf .build/site
	.build/documents/bin/python -m sphinx --quiet --fresh-env --fail-on-warning --keep-going \
	    --doctree-dir .build/documents/doctrees sdk/docs .build/site

## make environment   Python packages as locked, into .venv
.PHONY: environment
environment: .venv/.keylake

## make notebook   run examples/notebook.ipynb, and store what it shows
.PHONY: notebook
notebook: environment build notebooks
	.build/notebooks/bin/python tests/integration/notebooks/executed.py examples/notebook.ipynb examples/notebook.ipynb

## make lock       resolve the Python packages once more, into each requirements.lock
.PHONY: lock
lock: .build/uv
	$(RESOLVE) sdk/requirements.lock --python-version 3.10 --group dev pyproject.toml
	$(RESOLVE) tests/integration/clients/requirements.lock --python-version 3.11 --group clients
	$(RESOLVE) sdk/docs/requirements.lock --python-version 3.11 --group site
	$(RESOLVE) tests/integration/notebooks/requirements.lock --python-version 3.11 --group notebooks
	$(RESOLVE) tests/integration/catalogs/requirements.lock --python-version 3.11 --group moto
	$(RESOLVE) server_plugins/release/requirements.lock --python-version 3.11 --group release

## make clean      remove what the builds made, not the environment
.PHONY: clean
clean:
	rm -rf $(JARS) dist server_plugins/target server_plugins/*/target

## make help       this list
.PHONY: help
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

# What tests and the site are run with, each in a folder of .build: `make mariadb` and others.
-include tests/integration/installed.mk

# One sentence each, before anything is built.
.PHONY: prerequisites
prerequisites:
	@$(FIND_PYTHON) || { echo "keylake needs Python 3.11 or newer with its venv module: install it (Debian, Ubuntu: python3.11 and python3.11-venv)" \
	    "so that python3.11 or python3 is found." >&2; exit 1; }
	@case "$$($(JAVAC) -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')" in \
	    1[7-9]|[2-9][0-9]) ;; \
	    *) echo "keylake needs a JDK 17 or newer: install one (Debian, Ubuntu: openjdk-17-jdk-headless)" \
	        "so that javac is found, or set JAVA_HOME to it." >&2; exit 1 ;; \
	esac

# The stamps lie inside what they vouch for: whoever removes the folder removes the stamp.
.venv/.packages: sdk/requirements.lock | prerequisites
	@echo "environment: installing the locked Python packages into .venv (a fresh machine downloads about 600 MB)"
	@$(FIND_PYTHON); rm -rf .venv; $$python -m venv .venv
	@$(BIN)/python -m pip install --quiet --require-hashes --requirement sdk/requirements.lock
	@touch $@

.venv/.keylake: .venv/.packages pyproject.toml sdk/keylake_pipelines/pyproject.toml
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable . --editable sdk/keylake_pipelines
	@touch $@

$(JARS)/.built: $(PLUGIN_SOURCES) | prerequisites
	@echo "build: compiling the server plug-in (a fresh machine downloads Maven, Spark and Iceberg, about 400 MB)"
	@rm -rf $(addprefix server_plugins/*/target/,companions classes/META-INF)  # where an earlier build had other files
	@umask 022; $(MAVEN) package -DskipTests  # jars keep the permissions of folders
	@rm -rf $(JARS); mkdir -p $(JARS)
	@cp server_plugins/spark/target/keylake-server-*.jar $(patsubst %,server_plugins/%/target/keylake-*.jar,plain_deletes pipelines) \
	    server_plugins/*/target/companions/*.jar $(JARS)/
	@touch $@

# What lists the parts of a release, in an environment of its own.
.build/release/.packages: server_plugins/release/requirements.lock | .venv/.packages
	@echo "release: installing what lists packages and licences into .build/release (a fresh machine downloads about 10 MB)"
	@rm -rf .build/release; $(BIN)/python -m venv .build/release
	@.build/release/bin/python -m pip install --quiet --require-hashes --requirement $<
	@touch $@

# The classes that servers of tests load, which start sooner with them.
.build/classes.jsa: .venv/.keylake $(JARS)/.built tests/integration/class_archive.py
	@PYTHONPATH=tests $(BIN)/python tests/integration/class_archive.py

.build/jacoco: | prerequisites
	@echo "coverage: fetching JaCoCo"
	@for part in org.jacoco.agent:$(JACOCO):jar:runtime org.jacoco.cli:$(JACOCO):jar:nodeps; do \
	    $(MAVEN) --non-recursive org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
	        -Dartifact=org.jacoco:$$part -DoutputDirectory=$(CURDIR)/$@; done

.build/uv: | prerequisites
	@$(FIND_PYTHON); $$python -m venv $@
	@$@/bin/python -m pip install --quiet uv
