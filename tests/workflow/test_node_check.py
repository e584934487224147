"""The check of a node: what it accepts, and what each refusal says to do."""

import fcntl
import os
import sys

import pytest
from conftest import program

from rlvr.workflow import node_check


@pytest.fixture
def node(tmp_path, monkeypatch):
    """`node(driver, gpus)` makes a node whose nvidia-smi lists some GPUs."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def made(driver: str, count: int, mode: str = "Default"):
        modes = f"*compute_mode*) echo {mode};;\n" if mode else ""
        program(
            tmp_path, "nvidia-smi", f'case "$*" in\n{modes}*driver_version*) ' + f"echo {driver}\n" * count + ";;\nesac"
        )
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    return made


def todo(findings):
    return [str(finding) for finding in findings if finding.todo]


def test_a_node_with_the_driver_and_the_gpus_is_fit(node):
    node("580.65.06", 8)
    assert todo(node_check.gpus(8)) == []


def test_an_old_driver_and_missing_gpus_are_named(node, monkeypatch):
    node("535.104.05", 4)
    driver, count = todo(node_check.gpus(8))
    assert "driver 535.104.05" in driver and "580" in driver
    assert "4 GPUs of 8" in count and "config/cluster.yaml" in count
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")  # what the job may use of them
    assert "2 GPUs of 8" in todo(node_check.gpus(8))[1]


def test_gpus_for_one_process_only_are_named(node):
    node("580.65.06", 8, "Exclusive_Process")
    (mode,) = todo(node_check.gpus(8))
    assert "compute mode Exclusive_Process" in mode and "nvidia-smi -c DEFAULT" in mode
    node("580.65.06", 8, "[N/A]")  # a driver that does not say
    assert todo(node_check.gpus(8)) == []


def test_a_folder_too_long_for_sockets_is_named(tmp_path, monkeypatch):
    """The limit is that of the system and of Python's own names."""
    longest = node_check.SOCKET - node_check.IN_TMPDIR
    for length, fits in ((longest, True), (longest + 1, False)):
        folder = tmp_path / ("x" * (length - len(str(tmp_path)) - 1))
        folder.mkdir()
        code = "from multiprocessing.connection import Listener; Listener(family='AF_UNIX')"
        done = node_check.subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(folder)})
        assert (done.returncode == 0) is fits
        monkeypatch.setattr(node_check.tempfile, "tempdir", str(folder))
        assert bool(todo(node_check.temporary())) is not fits
    monkeypatch.setattr(node_check.tempfile, "tempdir", None)
    monkeypatch.setattr(node_check, "OF_RUNS", str(tmp_path / "missing"))
    assert "--bind /tmp" in todo(node_check.temporary())[-1]


def test_another_ray_is_told_and_is_no_obstacle(tmp_path, monkeypatch):
    monkeypatch.setattr(node_check.tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert not list(node_check.other_rays())
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("10.0.0.2:6379")
    lines = [str(finding) for finding in node_check.other_rays()]
    assert len(lines) == 2 and all(line.startswith("ok: ") and "do not join" in line for line in lines)


def test_a_cuda_compiler_is_asked_for_where_flashinfers_sampler_is_wanted(tmp_path, monkeypatch):
    def compilers() -> list[str]:
        return [str(one) for one in node_check.environment("vllm", sys.executable) if "CUDA compiler" in one.what]

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "cuda"))
    monkeypatch.delenv("VLLM_USE_FLASHINFER_SAMPLER", raising=False)
    assert not compilers()
    monkeypatch.setenv("VLLM_USE_FLASHINFER_SAMPLER", "1")
    (missing,) = compilers()
    assert missing.startswith("missing: vllm: CUDA compiler none: VLLM_USE_FLASHINFER_SAMPLER=1 needs it")
    program(tmp_path, "nvcc", "")
    assert compilers() == [f"ok: vllm: CUDA compiler {tmp_path}/nvcc"]


def test_a_file_system_without_locks_says_how_to_mount_it(tmp_path, monkeypatch):
    assert not node_check.locks(tmp_path).todo
    monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(38, "Function not implemented")))
    assert "-o flock" in node_check.locks(tmp_path).todo


def test_small_shared_memory_and_an_old_c_library_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(node_check, "SHARED", 10**9)
    assert "--shm-size" in node_check.shared_memory(str(tmp_path)).todo
    assert not node_check.glibc().todo
    monkeypatch.setattr(node_check, "GLIBC", (9, 9))
    assert "container" in node_check.glibc().todo


def test_an_environment_is_asked_for_its_headers(tmp_path):
    compiled = [str(finding) for finding in node_check.environment("verl", sys.executable)]
    assert len(compiled) == 2 and all(line.startswith(("ok: verl", "missing: verl")) for line in compiled)
    (missing,) = node_check.environment("verl", str(tmp_path / "python"))
    assert "make install-cluster" in missing.todo


def test_a_containers_own_compiler_counts_whatever_its_program_is_called(tmp_path, monkeypatch):
    """It is asked inside, where PATH is another; Triton takes $CC, gcc and clang."""
    inside = tmp_path / "inside"
    inside.mkdir()
    container = program(tmp_path, "apptainer", f'shift 3\nPATH={inside} CC=$OF_CONTAINER exec {sys.executable} "$@"')
    command = f"{container} exec rlvr.sif /opt/venv/bin/python"

    def compiler() -> str:
        return str(next(node_check.compiler("verl", command)))

    assert compiler().startswith("missing: verl: C compiler none: apt-get install gcc")
    for name in ("clang", "my-cc"):
        program(inside, name, "")
    assert compiler() == f"ok: verl: C compiler {inside}/clang"
    monkeypatch.setenv("OF_CONTAINER", "my-cc")
    assert compiler() == f"ok: verl: C compiler {inside}/my-cc"


def test_an_environment_that_does_not_start_is_said_to(tmp_path):
    (missing,) = node_check.environment("verl", str(program(tmp_path, "python", "exit 255")))
    assert "it does not start" in missing.todo


def test_models_in_the_cache_need_no_hub(tmp_path, monkeypatch):
    monkeypatch.setattr(node_check, "_cached", lambda repository, revision: repository == "a/b")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nothing listens there
    assert not node_check.hub(["a/b@main"]).todo
    lacking = node_check.hub(["a/b@main", "c/d@12ab"])
    assert "1 of 2 models (c/d@12ab first) are not in the cache" in lacking.what
    assert "snakemake --cores 1" in lacking.todo and "-- models" in lacking.todo


def test_only_the_node_that_fetches_models_needs_the_hub(tmp_path, monkeypatch):
    """It has no GPU. A node with GPUs says which models it sees."""
    monkeypatch.setattr(node_check, "_cached", lambda repository, revision: False)
    monkeypatch.setattr(node_check, "gpus", lambda asked: iter([]))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    models = ["a/b@main", "c/d@12ab"]
    assert "hub: http://127.0.0.1:9" in " ".join(todo(node_check.findings(0, tmp_path, [], models)))
    trains = list(node_check.findings(8, tmp_path, [], [], cached=models))
    assert not any("127.0.0.1" in str(line) for line in trains)
    assert any("has 0 of 2 models here" in str(line) for line in trains)


def test_a_node_that_judges_programs_needs_bubblewrap(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not node_check.verifier("math").todo
    line = str(node_check.verifier("code"))
    assert line.startswith("missing: verifier code: bubblewrap (bwrap) is not installed: install it")
