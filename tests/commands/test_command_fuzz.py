"""Every command with generated command lines and input: none ends in a traceback, and each error is a line or two.

The commands and their options are typer's own list, so that a new one is tried too. What a call reads lies in a folder
of its own with a copy of config/; nothing outside it is asked for or written.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, commands_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.members import fields
from typer.main import get_command
from typer.testing import CliRunner

from rlvr import estimators
from rlvr.commands import app

pytestmark = pytest.mark.slow

# Calls of each command; the slow ones read all of config/, or start processes. Others have as many as OTHERS.
CALLS = {
    **{"weigh": 600, "passk": 450, "consistency": 450, "grade": 350, "diversity": 200},
    **{"plan": 25, "verl-config": 15, "data list": 10, "data prepare": 30, "models": 10, "models resolve": 20},
}
OTHERS = 60
MORE = 10  # times as many in the long version
RARE = {"samples": 8, "problems": 8}  # options that need each other; others are given in 30 of 100 calls
ALWAYS = {"diversity": ["--no-embedding"]}  # loads a model otherwise


# The commands that do something, by their words.
COMMANDS = {
    " ".join(words): command
    for words, command in commands_of(get_command(app))
    if not hasattr(command, "commands") or command.invoke_without_command
}

# ---- what is generated ---------------------------------------------------------------------------

junk = st.one_of(
    st.none(), st.booleans(), st.integers(), st.sampled_from([2**53, 10**30, 10**400, -1, 0, 1]), st.floats(),
    st.sampled_from([1e200, -1e308, 5e-324]), st.text(max_size=20), st.sampled_from(["\ud83d", "\0", "a" * 5000]),
    st.lists(st.integers(), max_size=3), st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
)  # fmt: skip
nonsense = st.one_of(
    st.text(st.characters(exclude_characters="\0/\\.", exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["", "-1", "0", "1", "2", "1e999", "nan", "9" * 5000, "²", "a=b", "=", "-", "x" * 300, "\udcff"]),
)
raw = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [b"", b"\xef\xbb\xbf", b"{", b"[]", b'{"a":' * 100_000, b"[" * 100_000, b"9" * 5000, b"\xff\xfe\0{"]
    ),
    st.sampled_from([b'{"problem": 1, "n": 1' + b"0" * 5000 + b"}", b'"\\ud83d"', b"null", b"NaN", b"\0", b"\x1f\x8b"]),
)
REWARDS = [[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]]
LINES: dict[str, list[dict[str, Any]]] = {
    "weigh": [{"step": 0, **fields(REWARDS)}],
    "passk": [{"problem": "a", "n": 16, "c": 3}, {"problem": 2, "n": 8, "c": 8}],
    "grade": [
        {"id": 1, "completion": "\\boxed{1+2}", "gold": "1 2 = 3"},
        {"id": "b", "completion": "the answer is (B)", "gold": "B", "finished": False},
    ],
    "diversity": [{"problem": "a", "completion": "x", "correct": True, "extracted": "5"}] * 2,
}
HEADER = "paper,table,model,method,benchmark,k,value"
CELLS = st.one_of(
    st.sampled_from(["A", "1", "2", "8", "10k", "", "28.81%", " 50.0", "39.1 ± 0.2", "30,0", '"30,0"', "0.40", "101"]),
    st.sampled_from(['"', "9" * 5000, "0." + "9" * 5000, "1e5", "-3", "²", "pass@4", "4.0"]),
    st.text(max_size=6),
)


@dataclass(frozen=True)
class Call:
    words: tuple[str, ...]
    stdin: bytes
    files: dict[str, bytes]


@st.composite
def json_lines(draw: st.DrawFn, command: str) -> bytes:
    """Lines of the command's own form, most of them with one value replaced, and now and then something else."""
    made = []
    for _ in range(draw(st.integers(1, 4))):
        line: Any = dict(draw(st.sampled_from(LINES.get(command) or [{"a": 1}])))
        change = draw(st.sampled_from(["none", "none", "none", "value", "value", "key", "deep", "raw"]))
        key = draw(st.sampled_from(sorted(line)))
        if change == "raw":
            made.append(draw(raw))
            continue
        if change == "value":
            line[key] = draw(junk)
        elif change == "key":
            line[draw(st.text(max_size=5))] = line.pop(key)
        elif change == "deep":
            line[key] = _with_one_other(line[key], draw(junk))
        made.append(json.dumps(line).encode())
    return b"\n".join(made)


def _with_one_other(value: Any, other: Any) -> Any:
    """A nested list with its first number replaced."""
    if isinstance(value, list) and value:
        return [_with_one_other(value[0], other), *value[1:]]
    return other


table = st.one_of(
    st.lists(st.lists(CELLS, min_size=7, max_size=7) | st.lists(CELLS, max_size=8), max_size=4).map(
        lambda rows: "\n".join([HEADER, *(",".join(row) for row in rows)]).encode(errors="replace")
    ),
    st.dictionaries(st.integers(1, 9), CELLS | st.decimals(0, 100, places=1), min_size=2, max_size=5).map(
        lambda row: "\n".join([HEADER, *(f"P,T,m,x,AIME,{k},{v}" for k, v in row.items())]).encode(errors="replace")
    ),
    st.lists(st.decimals(0, 100, places=2), min_size=2, max_size=5).map(
        lambda row: "\n".join([HEADER, *(f"P,T,m,x,AIME,{2**i},{v}" for i, v in enumerate(row))]).encode()
    ),
)


def valid(command: str, name: str) -> st.SearchStrategy[str]:
    """Values that an option or an argument may have, since nonsense alone does not get far; of others small numbers."""
    known: dict[str, list[str]] = {
        "verifier": ["operators", "exact", "choice"] * 3 + ["math", "code"],  # the last two start processes
        "scale": ["smoke", "laptop"],
        "papers": ["ace", "methods"],
        "paper": ["ace"],
        "run": ["qwen2-tiny-grpo", "llama"],
        "k": ["1", "1,2", "8"],
        "confidence": ["0.9", "0.5", "1", "0"],
        "resamples": ["100", "500"],
        "workers": ["1"],
        "memory_mb": ["512", "4096"],
        "timeout": ["0.5", "5"],
        "problems": ["AIME=30", "AIME=30", "AIME=0"],
        "samples": ["2", "8"],
        "device": ["h100-80gb", "cpu-core"],
        "table": ["core", "tabel1"],
        "names": ["a/b", "qwen2-run", "results/runs/qwen2-run", "qwen3-8b-base"],
        "price": ["2.5", "0"],
        "config_folder": ["config", "config", "config", "none"],
        "results": ["results", "none"],
        "files": ["input.txt"] * 9 + ["input.txt.gz", "cut.gz", "none"],
        "file": ["input.txt", "input.txt", "input.txt.gz", "cut.gz", ".", "none"],
        "measured": ["input.txt", "none"],
        "order": ["out.csv", "out/out.csv", "."],
        "out": ["out"],
    }
    if (command, name) == ("weigh", "name"):
        return st.sampled_from(estimators.names())
    if (command, name) == ("data prepare", "name"):
        return st.sampled_from(["aime-2025", "math-500", "gpqa-diamond", "operator-fill"])
    if name == "settings":
        keys = sorted({key for one in estimators.names() for key in estimators.kind(one).settings})
        values = st.one_of(nonsense, st.sampled_from(["0.5", "2", "true", "null", "-1", "1e-300", "1e15", "grpo"]))
        return st.builds("{}={}".format, st.sampled_from(keys), values)
    return st.sampled_from(known.get(name, ["1", "2", "8", "1000", "0"]))


# Options that name files: nonsense would name some outside of the folder.
PATHS = ("file", "files", "measured", "order", "out", "config_folder", "results")


@st.composite
def calls(draw: st.DrawFn, name: str) -> Call:
    command, words = COMMANDS[name], name.split()
    for parameter in command.params:
        is_argument = parameter.param_type_name == "argument"
        if not draw(chance(95 if parameter.required or is_argument else RARE.get(parameter.name, 30))):
            continue
        own = valid(name, parameter.name)
        if parameter.name not in PATHS and not draw(chance(95)):
            own = nonsense
        if is_argument:
            words += [draw(own) for _ in range(draw(st.integers(1, 2)) if parameter.nargs == -1 else 1)]
        else:
            words += [draw(st.sampled_from([*parameter.opts, *parameter.secondary_opts]))]
            words += [] if parameter.is_flag else [draw(own)]
    if not draw(chance(97)):
        words.insert(draw(st.integers(len(name.split()), len(words))), draw(nonsense))
    content = draw(raw if not draw(chance(92)) else table if name == "consistency" else json_lines(name))
    files = {"input.txt": content, "input.txt.gz": gzip.compress(content), "cut.gz": gzip.compress(content)[:-9]}
    return Call((*words, *ALWAYS.get(name, [])), content, files)


def chance(percent: int) -> st.SearchStrategy[bool]:
    return st.integers(0, 99).map(lambda drawn: drawn < percent)


# ---- what must hold --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "config", folder / "config")
    run = folder / "results/runs/qwen2-run"
    for path, text in {
        run / "manifest.json": '{"spec": 3}',
        run / "state/step-000001/state.json": "{}",
        folder / "results/sft/other/manifest.json": "[1",
        folder / "results/evaluations/a/b/completions.jsonl.gz": "no gzip",
    }.items():
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return folder


@pytest.fixture(autouse=True)
def inside(site, monkeypatch):
    monkeypatch.chdir(site)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(site / "hub"))


def made(call: Call) -> Any:
    for file, content in call.files.items():
        Path(file).write_bytes(content)
    return CliRunner().invoke(app, call.words, input=call.stdin)


def faults(call: Call, code: int, out: str, err: str) -> str:
    """What is wrong with how a call ended; empty where nothing is."""
    lines = err.splitlines()
    if "Traceback" in out + err or "a fault of rlvr" in err or code not in (0, 2):
        return "a fault"
    if code and not (1 <= len(lines) <= 3 and all(line.startswith("rlvr") for line in lines)):
        return "an error that is not one to three lines"
    if call.words[0] in ("weigh", "passk", "grade", "diversity") and not {"--list", "--help"} & set(call.words):
        try:
            for line in out.splitlines():
                json.loads(line, parse_constant=lambda name: 1 / 0)
        except (ValueError, ZeroDivisionError):
            return "no JSON"
    return ""


def fuzz(name: str, count: int, **more: Any) -> None:
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck), **more)
    @given(calls(name))
    def ends_well(call: Call) -> None:
        done = made(call)
        wrong = faults(call, done.exit_code, done.stdout, done.stderr)
        assert not wrong, f"{wrong}: {call}\n{done.exit_code} {done.stdout[-300:]!r} {done.stderr[-600:]!r}"

    ends_well()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_call_ends_in_a_traceback(name):
    fuzz(name, CALLS.get(name, OTHERS), derandomize=True)


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_no_call_of_very_many_ends_in_a_traceback(name):
    fuzz(name, MORE * CALLS.get(name, OTHERS), derandomize=False)


def test_every_command_that_reads_lines_has_some_of_its_own_form():
    reading = {name for name, command in COMMANDS.items() if any("--input" in p.opts for p in command.params)}
    assert reading == set(LINES)


def test_a_fault_would_be_noticed(monkeypatch):
    """A command that does not check what it reads."""
    monkeypatch.setattr(sys.modules["rlvr.commands.passk"], "count", lambda value, place: value + 0)
    with pytest.raises(AssertionError, match="a fault"):
        fuzz("passk", CALLS["passk"], derandomize=True, phases=[Phase.generate])


@pytest.mark.parametrize("name", sorted(LINES))
def test_a_process_ends_as_the_call_in_process(name):
    """The same lines, one value wrong, through a real process."""
    words = {"weigh": ["grpo"], "grade": ["--verifier", "operators"], "diversity": ["--no-embedding"]}.get(name, [])
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    for change in ({}, {"problem": None, "rewards": [[1e200, 0]], "gold": "x"}, {"\ud83d": [1e999]}):
        text = "".join(json.dumps({**line, **change}) + "\n" for line in LINES[name]).encode()
        command = [sys.executable, "-m", "rlvr", name, *words]
        done = subprocess.run(command, input=text, capture_output=True, env=environment, timeout=60)
        again = made(Call((name, *words), text, {}))
        assert (done.returncode, done.stderr.decode()) == (again.exit_code, again.stderr)
        if name != "grade":  # which prints seconds
            assert done.stdout.decode() == again.stdout
        assert not faults(Call((name,), b"", {}), done.returncode, done.stdout.decode(), done.stderr.decode())
