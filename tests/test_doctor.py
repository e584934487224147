"""What is missing is said before anything is installed, a line each."""

import ast
import os
import subprocess
import sys

from conftest import ROOT, program


def doctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "envs" / "doctor.py"), *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def test_this_machine_has_what_is_needed():
    found = doctor()
    assert found.returncode == 0
    (line,) = found.stdout.splitlines()
    words = line.partition(": ")[2].split(", ")
    assert words[0] == f"Python {sys.version.split()[0]}" and words[1].startswith(str(len(os.sched_getaffinity(0))))
    assert [word.split(" ", 1)[1] for word in words[2:4]] == ["GiB of memory", "GiB of disk free"] and len(words) == 7
    assert line.startswith("all is well: " if not found.stderr else "ready, but for the notes above: ")
    assert doctor("quiet").stdout == ""


def test_what_is_found_is_said_in_a_line(tmp_path):
    for name, said in (("git", ""), ("cc", ""), ("c++", "echo 12.2.0"), ("bwrap", "echo bubblewrap 0.8.0")):
        program(tmp_path, name, said or "true")
    found = doctor(PATH=str(tmp_path))
    assert found.stderr == "" and found.stdout.startswith("all is well: Python ")
    assert ", bubblewrap 0.8.0, C++ compiler 12.2.0, " in found.stdout
    (tmp_path / "bwrap").unlink()
    found = doctor(PATH=str(tmp_path))
    assert "ready, but for the notes above: " in found.stdout and ", no bubblewrap, " in found.stdout


def test_an_old_python_reads_it_and_is_refused():
    """Its syntax is Python 3.6's, and no annotation is evaluated that needs a newer one, such as list[str]."""
    source = (ROOT / "envs" / "doctor.py").read_text()
    tree = ast.parse(source, feature_version=(3, 6))
    nodes = [(node, name) for node in ast.walk(tree) for name in ("annotation", "returns")]
    annotations = [found for node, name in nodes if (found := getattr(node, name, None)) is not None]
    assert annotations and all(isinstance(one, ast.Name | ast.Constant) for one in annotations)
    run = f"runpy.run_path({str(ROOT / 'envs' / 'doctor.py')!r}, run_name='__main__')"
    old = f"import runpy, sys; sys.version_info = (3, 8, 10); {run}"
    found = subprocess.run([sys.executable, "-c", old], capture_output=True, text=True)
    assert found.returncode == 1 and "missing: Python 3.11 or newer is needed" in found.stderr.splitlines()[0]


def test_missing_tools_are_named_in_one_line_each(tmp_path):
    found = doctor(PATH=str(tmp_path))
    assert found.returncode == 1 and found.stdout == ""
    lines = found.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["missing", "note", "note", "note"]
    words = ("git is missing", "no C compiler", "no C++ compiler", "no bubblewrap")
    assert all(word in line for word, line in zip(words, lines, strict=True))
    assert "make install-bubblewrap" in lines[-1]


def test_a_cluster_needs_its_python_and_its_driver(tmp_path):
    program(tmp_path, "python3.12", "echo 3.12")
    program(tmp_path, "nvidia-smi", "echo 580.65.06")
    program(tmp_path, "gcc", "echo")
    found = doctor("cluster", "python3.12", PATH=str(tmp_path))
    assert (found.returncode, found.stderr) == (0, "")
    program(tmp_path, "python3.12", "echo 3.13")
    program(tmp_path, "nvidia-smi", "echo 570.124.06")
    found = doctor("cluster", "python3.12", PATH=str(tmp_path))
    first, second = found.stderr.splitlines()
    assert found.returncode == 1
    assert first.startswith("missing: Python 3.12 is needed, python3.12 is 3.13: set CLUSTER_")
    assert second == "missing: NVIDIA's driver must be 580 or newer (CUDA 13), this is 570.124.06: ask the site"


def test_what_gpu_nodes_need_is_noted_where_a_login_node_lacks_it(tmp_path):
    program(tmp_path, "python3.12", "echo 3.12")
    notes = doctor("cluster", "python3.12", PATH=str(tmp_path)).stderr.splitlines()
    assert [note.split(":")[:2] for note in notes] == [["note", " no C compiler"], ["note", " no NVIDIA driver here"]]
    absent = doctor("cluster", "python3.12", PATH=str(tmp_path / "empty"))
    assert "python3.12 does not run, or lacks the venv module" in absent.stderr
