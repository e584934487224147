"""An evaluation that several jobs draw: merged, it is what one job writes, through kills and another number of jobs."""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, run_module, spec_file

from rlvr.config.cluster import Cluster
from rlvr.config.schema.settings import SLICES, Evaluation
from rlvr.config.schema.specs import EvaluationSpec
from rlvr.files import RecordError, publish_lines, read_lines
from rlvr.records import Problem
from rlvr.sampling import generate, merge
from rlvr.sampling.parts import in_order, parts_of, rows_a_part

SAMPLES = 24
FILES = ("completions.jsonl.gz", "tokens.jsonl.gz")


@pytest.fixture(scope="module")
def asked(workbench):
    """What every job gets: evaluation, policy, problems."""
    sampling = Evaluation(temperature=0.8, top_p=0.95, samples=SAMPLES, max_response_tokens=16, seed=3)
    spec = EvaluationSpec(data=workbench.spec.validation, sampling=sampling)
    problems = workbench.folder / workbench.spec.validation.name / "problems.jsonl"
    return {"spec": spec_file(spec), "policy": workbench.base, "problems": problems}


def slices_of(out: Path, shard: int, shards: int) -> list[Path]:
    """As the rule has them."""
    return [out / "slices" / f"{number:02d}.jsonl.gz" for number in range(SLICES)][shard::shards]


@pytest.fixture(autouse=True)
def sigterm():
    """A job's answer to SIGTERM is not the tests'."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def draw(asked, out: Path, shard: int, shards: int, rows: int) -> None:
    generate.main(**asked, state=out / "state", slices=slices_of(out, shard, shards), rows=rows)


def join(asked, out: Path) -> None:
    rest = {name: asked[name] for name in ("spec", "problems")}
    merge.main(slices_of(out, 0, 1), **rest, out=out / FILES[0], tokens=out / FILES[1], state=out / "state")


@pytest.fixture(scope="module", params=[48, 7], ids=["4 parts", "32 parts"])
def whole(request, asked, tmp_path_factory):
    """One job's files, and the completions a part: several problems a part, or some samples of one."""
    out = tmp_path_factory.mktemp("whole")
    generate.main(**asked, state=out / "state", out=out / FILES[0], tokens=out / FILES[1], rows=request.param)
    return out, request.param


def same_files(left: Path, right: Path) -> bool:
    return all((left / name).read_bytes() == (right / name).read_bytes() for name in FILES)


@pytest.mark.parametrize("shards", [1, 2, 3, 7, SLICES])
def test_several_jobs_give_the_bytes_of_one(asked, whole, tmp_path, shards):
    for shard in reversed(range(shards)):  # in any order
        draw(asked, tmp_path, shard, shards, whole[1])
    join(asked, tmp_path)
    assert same_files(tmp_path, whole[0])
    assert not list((tmp_path / "state").iterdir())


def parts_in(out: Path) -> dict[str, tuple[int, int]]:
    found = (out / "state").rglob("part-*")
    return {f"{path.parent.name}/{path.name}": (path.stat().st_ino, path.stat().st_mtime_ns) for path in found}


@pytest.mark.slow
def test_a_killed_job_goes_on_from_its_parts_and_touches_no_other(asked, tmp_path):
    draw(asked, tmp_path, 1, 2, 2)
    theirs = parts_in(tmp_path)
    words = [*("--spec", str(asked["spec"]), "--policy", str(asked["policy"]), "--problems", str(asked["problems"]))]
    words += ["--state", str(tmp_path / "state"), "--rows", "2", *map(str, slices_of(tmp_path, 0, 2))]
    command = [sys.executable, "-m", "rlvr.sampling.generate", *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while len(parts_in(tmp_path)) < len(theirs) + 5 and time.monotonic() < deadline:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    kept = parts_in(tmp_path)
    assert len(theirs) + 5 <= len(kept) < 8 * 12 and not slices_of(tmp_path, 0, 2)[0].exists()
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    steps = [json.loads(line)["step"] for line in done.stdout.splitlines() if line.startswith("{")]
    assert steps == list(range(len(kept) - len(theirs) + 1, 8 * 12 - len(theirs) + 1))
    assert kept.items() <= parts_in(tmp_path).items()
    join(asked, tmp_path)
    generate.main(
        **asked, state=tmp_path / "one", out=tmp_path / "one" / FILES[0], tokens=tmp_path / "one" / FILES[1], rows=2
    )
    assert same_files(tmp_path, tmp_path / "one")


def test_another_number_of_jobs_midway_draws_nothing_twice(asked, whole, tmp_path):
    draw(asked, tmp_path, 0, 3, whole[1])
    shutil.rmtree(tmp_path / "slices")  # as Snakemake does before a job that makes them anew
    kept = parts_in(tmp_path)
    for shard in range(4):
        draw(asked, tmp_path, shard, 4, whole[1])
    assert kept and kept.items() <= parts_in(tmp_path).items()
    join(asked, tmp_path)
    assert same_files(tmp_path, whole[0])


def test_a_job_without_a_missing_part_starts_no_engine(asked, tmp_path):
    manifest = tmp_path / "manifest.json"  # without the policy beside it
    shutil.copy(asked["policy"], manifest)
    draw({**asked, "policy": manifest}, tmp_path, 5, 7, 48)
    assert all(len(list(read_lines(path))) == 1 for path in slices_of(tmp_path, 5, 7))
    with pytest.raises(SystemExit, match="is missing or damaged"):
        draw({**asked, "policy": manifest}, tmp_path, 1, 7, 48)


# ---- what a merge refuses ------------------------------------------------------------------------


@pytest.fixture
def drawn(asked, tmp_path):
    draw(asked, tmp_path, 0, 1, 48)
    return tmp_path


def change(path: Path, **fingerprint) -> None:
    head, *rows = read_lines(path)
    publish_lines(path, [{"fingerprint": head["fingerprint"] | fingerprint}, *rows])


def refused(asked, out: Path) -> str:
    with pytest.raises(SystemExit) as error:
        join(asked, out)
    assert not any((out / name).exists() for name in FILES)
    return str(error.value)


def test_another_version_of_the_engine_in_one_shard(asked, drawn):
    change(drawn / "slices/02.jsonl.gz", engine="in_process, torch 1.0")
    said = refused(asked, drawn)
    assert "slices differ in engine: in_process, torch 2" in said and "in_process, torch 1.0 in slices 02" in said


def test_another_policy_evaluation_or_benchmark(asked, drawn):
    change(drawn / "slices/00.jsonl.gz", policy={"files": {}})
    assert "slices differ in policy" in refused(asked, drawn)
    for path in slices_of(drawn, 0, 1):
        change(path, policy={}, problems="0")
    assert "slices are of another problems" in refused(asked, drawn)
    spec = EvaluationSpec.model_validate_json(asked["spec"].read_bytes())
    colder = spec.model_copy(update={"sampling": spec.sampling.model_copy(update={"temperature": 0.1})})
    assert "slices are of another evaluation" in refused({**asked, "spec": spec_file(colder)}, drawn)


def test_missing_double_and_damaged_slices(asked, drawn):
    kept = (drawn / "slices/01.jsonl.gz").read_bytes()
    shutil.copy(drawn / "slices/00.jsonl.gz", drawn / "slices/01.jsonl.gz")
    assert "is there twice" in refused(asked, drawn)
    (drawn / "slices/01.jsonl.gz").write_bytes(kept[: len(kept) // 2])
    assert "01.jsonl.gz is damaged" in refused(asked, drawn)
    shorter = gzip.decompress(kept).splitlines(keepends=True)[:-3]
    (drawn / "slices/01.jsonl.gz").write_bytes(gzip.compress(b"".join(shorter)))
    assert "3 samples are missing, such as sample 21 of" in refused(asked, drawn)
    (drawn / "slices/01.jsonl.gz").write_bytes(kept)
    join(asked, drawn)


def test_every_sample_once_and_in_order(tmp_path):
    problems = [Problem(name, "", "", "") for name in "ba"]

    def row(problem, sample):
        fixed = {"text": "", "tokens": 1, "finish": "stop", "logprob": 0.0, "engine": "", "version": ""}
        return {"completion": {"problem": problem, "sample": sample, **fixed}}

    def keys(*shares):
        rows = in_order([[row(*key) for key in share] for share in shares], problems, 2, tmp_path)
        return [(row["completion"]["problem"], row["completion"]["sample"]) for row in rows]

    assert keys([("b", 1), ("a", 0)], [("b", 0), ("a", 1)]) == [("b", 0), ("b", 1), ("a", 0), ("a", 1)]
    for shares, fault in [
        ([[("b", 0), ("c", 0)]], "sample 0 of c is not asked for"),
        ([[("b", 0), ("b", 2)]], "sample 2 of b is not asked for"),
        ([[("a", 0), ("b", 0)]], "sample 0 of b is out of order"),
        ([[("b", 0)], [("b", 0)]], "sample 0 of b is there twice"),
        ([[("b", 1)], [("a", 1)]], "2 samples are missing, such as sample 0 of b"),
        ([], "4 samples are missing, such as sample 0 of b"),
    ]:
        with pytest.raises(RecordError, match=f"^{tmp_path}: {fault}; delete the samples there"):
            keys(*shares)


@pytest.mark.parametrize(("problems", "samples", "parts"), [(30, 128, 4), (500, 128, 16), (12, 32, 1), (1, 40_000, 5)])
def test_parts_are_enough_for_several_jobs_and_no_smaller(problems, samples, parts):
    assert len(parts_of(problems, samples, rows_a_part((1024, 8192), problems, samples))) == parts
    assert rows_a_part((1024, 1024), problems, samples) == 1024


# ---- another environment -------------------------------------------------------------------------


def site(python: str) -> Cluster:
    kind = {"partition": "cpu", "runtime": 1}
    kinds = {"cpu": kind, "short": kind}
    return Cluster.model_validate({"account": None, "kinds": kinds, "environments": {"vllm": python}})


def test_a_command_runs_with_this_package_and_its_own_tools_first(tmp_path):
    python = tmp_path / "site" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    command = site("site/bin/python -W ignore").python("vllm", tmp_path)
    code = "import os, rlvr, sys; print(rlvr.__file__, os.environ['PATH'].split(':')[0], sys.warnoptions, sys.argv[1])"
    done = run_module("rlvr.run_in_env", "here", command, "-c", code, "two words")
    assert done.stdout.strip() == f"{ROOT}/src/rlvr/__init__.py {python.parent} ['ignore'] two words"


def test_a_missing_python_is_named_with_file_and_key(tmp_path):
    command = site(".venv-cluster/bin/python").python("vllm", tmp_path)
    done = run_module("rlvr.run_in_env", "config/cluster.yaml: environments.vllm", command, "-m", "x", check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (
        f"config/cluster.yaml: environments.vllm: no such program: {tmp_path}/.venv-cluster/bin/python" in done.stderr
    )
