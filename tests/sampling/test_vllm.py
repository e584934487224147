"""The engine vLLM, for real, on a CPU: `make test-vllm`, in an environment of its own."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
import yaml
from conftest import ROOT, run_module, spec_file
from scipy.stats import chi2_contingency

from rlvr.config.identity import evaluation_id
from rlvr.config.schema.settings import SLICES, Evaluation
from rlvr.config.schema.specs import EvaluationSpec
from rlvr.files import publish_json, read_json, sha256
from rlvr.planning.expansion import make_plan
from rlvr.records import Completion, read_records

pytestmark = pytest.mark.vllm

SAMPLING = Evaluation(temperature=0.8, top_p=0.95, samples=150, max_response_tokens=16, seed=3, engine="vllm")
MEMORY = ("--gpu-memory", "0.1")  # of this machine's memory, where there is no GPU


@pytest.fixture(scope="module")
def bench(workbench):
    def command(out: Path, *more: str, policy: Path | None = None, **changes) -> list[str]:
        spec = EvaluationSpec(data=workbench.spec.validation, sampling=SAMPLING.model_copy(update=changes))
        problems = workbench.folder / workbench.spec.validation.name / "problems.jsonl"
        return [
            *("--spec", str(spec_file(spec)), "--policy", str(policy or workbench.base), "--problems", str(problems)),
            *("--out", str(out / "completions.jsonl.gz"), "--tokens", str(out / "tokens.jsonl.gz")),
            *("--state", str(out / "state"), *MEMORY, *more),
        ]

    return command


def sample(command: list[str]) -> list[Completion]:
    run_module("rlvr.sampling.generate", *command)
    return read_records(Path(command[command.index("--out") + 1]), Completion)


@pytest.fixture(scope="module")
def whole(bench, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    return out, sample(bench(out, "--rows", "300"))


def test_what_is_recorded(whole):
    _, done = whole
    assert len(done) == 8 * 150 and {c.engine for c in done} == {"vllm"}
    locked = dict(line.split("==") for line in (ROOT / "envs/cluster.txt").read_text().split() if "==" in line)
    assert {c.version for c in done} == {f"vllm {locked['vllm']}, runner V1 (torch.Generator)"}  # as Qwen2 on GPUs
    assert {c.finish for c in done} <= {"stop", "length"} and all(c.finish == "stop" for c in done if c.tokens < 16)
    assert [(c.problem, c.sample) for c in done] == sorted(((c.problem, c.sample) for c in done), key=_order(done))


def _order(done):
    problems = list(dict.fromkeys(c.problem for c in done))
    return lambda pair: (problems.index(pair[0]), pair[1])


def test_the_arguments_and_names_that_only_gpus_use_are_vllms(monkeypatch):
    """Which this vLLM does not run: it has the GPUs' version."""
    from dataclasses import fields

    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.attention.backends.registry import AttentionBackendEnum

    from rlvr.run_in_env import VLLM, attention
    from rlvr.sampling.engines.vllm import options

    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    given = {**options("model", "bfloat16", 1024, 1, 0.75), **attention()}
    assert given.keys() <= {field.name for field in fields(EngineArgs)}
    assert given["attention_backend"] in AttentionBackendEnum.__members__
    from vllm import envs

    assert all(name in envs.environment_variables for name in [*VLLM, "VLLM_USE_V2_MODEL_RUNNER"])


def test_vllm_and_the_trainer_agree(whole, workbench, tmp_path):
    arguments = ("--policy", str(workbench.base), "--tokens", str(whole[0] / "tokens.jsonl.gz"))
    run_module("rlvr.sampling.agreement", *arguments, "--out", str(tmp_path / "agreement.json"))
    found = read_json(tmp_path / "agreement.json")
    assert found["sequences"] == 8 and found["max_abs"] < 1e-4


def test_vllm_draws_from_the_distribution_that_the_sampler_in_process_draws_from(whole, bench, tmp_path):
    theirs = sample(bench(tmp_path, engine="in_process"))
    levels = []
    for problem in {c.problem for c in theirs}:
        counts = [Counter(c.text for c in done if c.problem == problem) for done in (whole[1], theirs)]
        common = [text for text, n in (counts[0] + counts[1]).items() if n >= 10]
        table = [[count[text] for text in common] for count in counts]
        table = [[*row, 150 - sum(row)] for row in table]
        table = list(zip(*[column for column in zip(*table, strict=True) if sum(column)], strict=True))
        levels.append(chi2_contingency(table).pvalue if len(table[0]) > 1 else 1.0)
    assert min(levels) > 1e-4 / len(levels)  # one in ten thousand, over all problems


def test_samples_are_independent_and_repeatable(whole, bench, tmp_path):
    by_sample = Counter((c.problem, c.text) for c in whole[1])
    assert max(by_sample.values()) < 150  # not one sample 150 times, as one seed for all would give
    again = sample(bench(tmp_path, "--rows", "300", samples=150))
    assert again == whole[1]
    other = sample(bench(tmp_path / "other", seed=4))
    assert [c.text for c in other] != [c.text for c in whole[1]]


def test_a_models_generation_config_overrides_nothing(whole, bench, workbench, tmp_path):
    manifest = read_json(workbench.base)
    folder = tmp_path / "policy"
    shutil.copytree(workbench.base.parent / manifest["policy"], folder)
    overrides = {"top_k": 1, "repetition_penalty": 3.0, "temperature": 0.1, "min_p": 0.9}
    settings = read_json(folder / "generation_config.json") if (folder / "generation_config.json").exists() else {}
    publish_json(folder / "generation_config.json", {**settings, **overrides, "do_sample": True})
    sums = {path.name: sha256(path) for path in folder.iterdir()}
    publish_json(tmp_path / "manifest.json", {**manifest, "policy": "policy", "files": sums})
    assert sample(bench(tmp_path / "out", "--rows", "300", policy=tmp_path / "manifest.json")) == whole[1]


def test_killed_midway_no_finished_sample_is_drawn_twice(whole, bench, tmp_path):
    command = [sys.executable, "-m", "rlvr.sampling.generate", *bench(tmp_path, "--rows", "300")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    quiet = {"stdout": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **quiet) as process:
        deadline = time.monotonic() + 300
        while not list((tmp_path / "state").glob("part-*")) and time.monotonic() < deadline:
            time.sleep(0.002)
        family = psutil.Process(process.pid).children(recursive=True)
        process.kill()  # the stage alone: what vLLM started ends with it
        assert len(family) > 1
        _, alive = psutil.wait_procs(family, timeout=60)
        assert not alive
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "state").glob("part-*")}
    assert 1 <= len(kept) < 4
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        output, _ = process.communicate(timeout=300)
    steps = [json.loads(line)["step"] for line in output.splitlines() if line.startswith('{"stage": "generate"')]
    assert steps == list(range(len(kept) + 1, 5))
    for name in ("completions.jsonl.gz", "tokens.jsonl.gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()) == gzip.decompress((whole[0] / name).read_bytes())


LOADS = """
from contextlib import suppress
from pathlib import Path
from rlvr.sampling.engines import vllm as engine

with suppress(FileNotFoundError):
    engine.load(Path("no manifest"), None)
from vllm import envs
print(envs.VLLM_USE_FLASHINFER_SAMPLER, envs.VLLM_RPC_BASE_PATH)
"""


@pytest.mark.parametrize(
    ("users", "read"), [({}, "False /tmp"), ({"SAMPLER": "1", "SOCKETS": "/scratch"}, "True /scratch")]
)
def test_vllm_needs_no_nvcc_and_a_short_path_for_sockets_unless_the_user_says_otherwise(users, read, tmp_path):
    """FlashInfer's sampler would be compiled at vLLM's start; a socket's path has at most 107 bytes."""
    names = {"SAMPLER": "VLLM_USE_FLASHINFER_SAMPLER", "SOCKETS": "VLLM_RPC_BASE_PATH"}
    environment = {name: value for name, value in os.environ.items() if name not in names.values()}
    long = tmp_path / ("x" * 80)
    long.mkdir()
    environment |= {"TMPDIR": str(long), **{names[name]: value for name, value in users.items()}}
    done = subprocess.run([sys.executable, "-c", LOADS], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == [read], done.stderr


# ---- several jobs --------------------------------------------------------------------------------


def test_two_jobs_merged_are_what_one_job_draws(whole, bench, tmp_path):
    command, slices = (
        bench(tmp_path, "--rows", "300"),
        [tmp_path / f"{number:02d}.jsonl.gz" for number in range(SLICES)],
    )
    given = {word: command[command.index(word) : command.index(word) + 2] for word in ("--out", "--tokens", "--spec")}
    drawing = [word for word in command if word not in (*given["--out"], *given["--tokens"])]
    for shard in (1, 0):
        run_module("rlvr.sampling.generate", *drawing, *map(str, slices[shard::2]))
    problems, state = (command[command.index(word) : command.index(word) + 2] for word in ("--problems", "--state"))
    rest = [word for words in given.values() for word in words]
    run_module("rlvr.sampling.merge", *rest, *problems, *state, *map(str, slices))
    done = read_records(tmp_path / "completions.jsonl.gz", Completion)
    assert [(c.problem, c.sample, c.version) for c in done] == [(c.problem, c.sample, c.version) for c in whole[1]]
    equal = sum(ours == theirs for ours, theirs in zip(done, whole[1], strict=True))
    print(f"{equal} of {len(done)} completions of two jobs are those of one")
    assert equal == len(done)  # each part is the same batch
    for name in ("completions.jsonl.gz", "tokens.jsonl.gz"):
        assert (tmp_path / name).read_bytes() == (whole[0] / name).read_bytes()


@pytest.fixture
def project(tmp_path):
    """This workflow at smoke scale, with evaluations by vLLM; `say(shards, python)` sets what a site may change."""
    for name in ("config", "workflow"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "Snakefile", tmp_path)
    scale, site = tmp_path / "config/scale/smoke.yaml", tmp_path / "config/cluster.yaml"
    smoke, cluster = yaml.safe_load(scale.read_text()), yaml.safe_load(site.read_text())

    def say(shards: int, python: str) -> None:
        smoke["settings"]["evaluation"]["engine"] = "vllm"
        smoke["settings"]["execution"] |= {"shards": shards, "gpu_memory_utilization": 0.1}
        cluster["environments"]["vllm"] = python
        scale.write_text(yaml.safe_dump(smoke))
        site.write_text(yaml.safe_dump(cluster))

    say(1, "python")
    return tmp_path, say


def workflow(folder: Path, *targets: str) -> subprocess.CompletedProcess:
    """By the workflow's own Python, which has no vLLM."""
    asked = ("--profile", str(folder / "workflow/profiles/smoke"), "--cores", "1", "-d", str(folder))
    command = [str(ROOT / ".venv/bin/python"), "-m", "snakemake", "-s", str(folder / "Snakefile"), *asked]
    return subprocess.run([*command, "--", *targets], cwd=folder, capture_output=True, text=True)


def test_the_workflow_draws_in_another_environment_and_merges(project):
    folder, say = project
    plan = make_plan(folder, "smoke", ["ace"])
    evaluation = next(spec for spec in plan.evaluations.values() if "easy" in spec.data.name)
    policy = next(iter(plan.policies))
    where = f"results/smoke/evaluations/{policy}/{evaluation_id(evaluation)}"

    say(2, "site/bin/python")
    failed = workflow(folder, f"{where}/scores.csv")
    assert failed.returncode != 0
    missing = f"missing: config/cluster.yaml: environments.vllm: no such program: {folder}/site/bin/python"
    assert missing in failed.stdout + failed.stderr and "no job was started" in failed.stdout + failed.stderr

    say(2, sys.executable)
    done = workflow(folder, f"{where}/scores.csv", f"{where}/agreement.json")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    completions = read_records(folder / where / "completions.jsonl.gz", Completion)
    assert len(completions) == evaluation.data.problems * evaluation.sampling.samples
    assert {c.engine for c in completions} == {"vllm"}
    assert read_json(folder / where / "agreement.json")["max_abs"] < 1e-4
    assert not list((folder / where / "slices").glob("*")) and not list((folder / where / "state").glob("*"))

    say(3, sys.executable)
    again = workflow(folder, f"{where}/scores.csv", f"{where}/agreement.json")
    assert "Nothing to be done" in again.stdout + again.stderr
