"""What is missing is said before anything is installed, a line each."""

import os
import subprocess
import sys

from conftest import ROOT


def doctor(**environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "envs" / "doctor.py")]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def test_this_machine_has_what_is_needed():
    assert doctor().returncode == 0


def test_missing_tools_are_named_in_one_line_each(tmp_path):
    found = doctor(PATH=str(tmp_path))
    assert found.returncode == 1
    lines = found.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["missing", "note", "note"]
    assert "git is missing" in lines[0] and "no C compiler" in lines[1] and "no bubblewrap" in lines[2]
