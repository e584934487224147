"""`benchmarks/rehearsal`: what needs no GPU and no network."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import struct
import subprocess
import sys
import time

import pytest
from conftest import ROOT

from rlvr.config.registries import ENGINES
from rlvr.config.schema.settings import Execution
from rlvr.config.schema.specs import EvaluationSpec, PolicySpec, RunSpec

FOLDER = ROOT / "benchmarks/rehearsal"


@pytest.fixture(scope="module")
def load():
    """A script as a module; they import each other."""
    sys.path.insert(0, str(FOLDER))

    def module(name: str):
        spec = importlib.util.spec_from_file_location(f"rehearsal_{name}", FOLDER / f"{name}.py")
        made = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = made  # for its dataclasses
        spec.loader.exec_module(made)
        return made

    yield module
    sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def rehearse(load):
    return load("rehearse")


# ---- blocks ----


def test_all_blocks_as_planned_take_at_most_twelve_minutes_and_each_has_a_limit(load):
    blocks = load("blocks")
    assert sum(blocks.BLOCKS[name].planned for name in blocks.PLANNED) <= blocks.WHOLE == 720
    assert all(block.planned < block.limit <= 600 for block in blocks.BLOCKS.values())


def test_the_plan_is_printed_by_any_python_without_packages():
    command = [sys.executable, "-E", "-s", "-S", str(FOLDER / "rehearse.py"), "--plan", "--blocks", "env,rl"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^(\w+) +\d+ s", done.stdout, re.MULTILINE) == ["env", "rl", "all"]


def test_at_the_limit_a_hanging_command_ends_with_all_that_it_started(rehearse, tmp_path):
    """Also what has a session of its own, as Ray's processes do."""
    log, began, others = tmp_path / "log", time.monotonic(), set(rehearse.descendants(os.getpid()))
    script = "sleep 60 & setsid sleep 60 & echo started; sleep 60"
    assert rehearse.run(["bash", "-c", script], log, limit=1.0) is None
    assert time.monotonic() - began < 20 and "started" in log.read_text()
    assert set(rehearse.descendants(os.getpid())) <= others


def test_the_exit_code_of_a_command(rehearse, tmp_path):
    assert rehearse.run([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "log", limit=60) == 3


def test_a_failed_block_is_reported_and_the_next_one_starts(tmp_path):
    """Without a site and a kit every block but `env` fails."""
    out = tmp_path / "out"
    command = [sys.executable, str(FOLDER / "rehearse.py"), "--out", str(out), "--work", str(tmp_path / "work")]
    done = subprocess.run([*command, "--blocks", "sft,memory"], capture_output=True, text=True)
    lines = (out / "figures.txt").read_text().splitlines()
    assert "2 of 2 blocks failed" in done.stderr and (out / "logs.tar.gz").exists()
    failed = [re.match(r"(\w+): failed, [\d.]+ s, .", line)[1] for line in lines if ": failed" in line]
    assert failed == ["sft", "memory"]
    cells = [[cell.strip() for cell in row.split("|")] for row in (out / "figures.md").read_text().splitlines()]
    assert [row[1:3] for row in cells] == [["SFT by verl", "at most 140 s"], [cells[1][1], "at most 40 s"]]
    assert all(len(row) == 5 and row[3].startswith("**failed** after ") for row in cells)


# ---- chunks ----


def test_chunks_have_at_most_their_size_and_unpack_to_what_was_packed(rehearse, load, tmp_path):
    build = load("build")
    site, kit, out = tmp_path / "site", tmp_path / "kit", tmp_path / "out"
    for folder in (site, kit, out):
        folder.mkdir()
    (site / "library.so").write_bytes(os.urandom(5 * 2**19))
    (kit / "run.json").write_text("{}")
    chunks = build.pack(site, out / "site.tar.xz", chunk_mib=1)
    build.write_sums([*chunks, *build.pack(kit, out / "kit.tar.xz")])
    assert [path.name for path in chunks] == ["site.tar.xz.00", "site.tar.xz.01", "site.tar.xz.02"]
    assert all(path.stat().st_size <= 2**20 for path in chunks)
    rehearse.unpack(out, tmp_path / "there")
    assert (tmp_path / "there/site/library.so").read_bytes() == (site / "library.so").read_bytes()
    assert (tmp_path / "there/kit/run.json").read_text() == "{}"
    chunks[1].write_bytes(b"other")
    with pytest.raises(rehearse.Failed, match=r"site\.tar\.xz\.01: damaged"):
        rehearse.unpack(out, tmp_path / "again")
    chunks[1].unlink()
    with pytest.raises(rehearse.Failed, match=r"site\.tar\.xz\.01: missing"):
        rehearse.unpack(out, tmp_path / "again")


def test_the_site_has_what_the_machine_lacks(load):
    build = load("build")
    pins = "torch==2.11.0 numpy==2.3.5 vllm==0.24.0 WandB==1.0 transformers==5.9.0 torchdata==0.11.0 nvidia-nccl==2"
    expected = {"torchdata": "0.11.0", "transformers": "5.9.0", "vllm": "0.24.0"}
    assert build.needed(pins.replace(" ", "\n"), "torch, numpy\ntransformers", "wandb") == expected


def test_the_site_is_of_the_lock():
    """The names that are left out are pins, so that a new lock shows names that have gone."""
    pins = re.findall(r"^([\w.-]+)==", (ROOT / "envs/cluster.txt").read_text(), re.MULTILINE)
    known = {re.sub(r"[-_.]+", "-", name.lower()) for name in pins} | {"flash-attn"}
    assert set((FOLDER / "left_out.txt").read_text().split()) <= known


# ---- CUDA libraries ----


def library(containers: list[list[tuple[int, int, bytes]]]) -> bytearray:
    """A 64-bit ELF file whose .nv_fatbin has containers of (kind, architecture, code)."""
    fatbin = b""
    for entries in containers:
        body = b""
        for kind, architecture, code in entries:
            body += struct.pack("<HHIQ", kind, 0x101, 64, len(code)) + bytes(12) + struct.pack("<I", architecture)
            body += bytes(32) + code
        fatbin += struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body + bytes(8)  # padding
    names = b"\0.nv_fatbin\0.names\0"
    places = [(0, 0, 0), (1, 64, len(fatbin)), (12, 64 + len(fatbin), len(names))]
    table = b"".join(struct.pack("<IIQQQQ", name, 1, 0, 0, at, size) + bytes(24) for name, at, size in places)
    head = bytearray(b"\x7fELF\x02" + bytes(59))
    struct.pack_into("<Q", head, 0x28, 64 + len(fatbin) + len(names))
    struct.pack_into("<HHH", head, 0x3A, 64, len(places), 2)
    return head + fatbin + names + table


def test_the_code_of_sm_90_is_kept_else_the_newest_ptx_that_it_compiles(load):
    strip, ptx, cubin = load("strip"), 1, 2
    code = {name: name.encode() * 16 for name in ("a80", "a90", "p80", "p90", "p100", "b80", "q80", "q100", "c100")}
    data = library(
        [
            [(cubin, 80, code["a80"]), (cubin, 90, code["a90"]), (ptx, 90, code["p90"])],
            [(cubin, 80, code["b80"]), (ptx, 75, code["p80"]), (ptx, 80, code["q80"]), (ptx, 100, code["q100"])],
            [(cubin, 100, code["c100"])],
        ]
    )
    size = len(data)
    kept, zeroed = strip.strip(data)
    assert len(data) == size and kept + zeroed == sum(map(len, code.values())) - len(code["p100"])
    there = {name for name, text in code.items() if bytes(data).find(text) >= 0}
    assert there == {"a90", "q80"} and kept == len(code["a90"]) + len(code["q80"])


def test_a_file_without_cuda_code_is_refused(load):
    with pytest.raises(ValueError, match="not a 64-bit ELF"):
        load("strip").strip(bytearray(b"text"))


# ---- runs ----


@pytest.mark.parametrize("scale", ["rehearsal", "smoke"])
def test_the_runs_fit_the_schema_and_draw_no_batch_without_end(scale, load):
    """Random weights solve nothing: dynamic sampling would draw for ever."""
    specs = load("kit").specifications(scale)
    run = RunSpec.model_validate_json(json.dumps(specs["run"]))
    assert run.rl.backend == "verl" and not run.rollout.dynamic_sampling and run.rl.steps == 2
    assert PolicySpec.model_validate_json(json.dumps(specs["base"])) == run.base and run.base.sft.backend == "verl"
    assert EvaluationSpec.model_validate_json(json.dumps(specs["evaluation"])).sampling.engine == "vllm"
    assert Execution.model_validate_json(json.dumps(specs["execution"])).attention == "sdpa"


def test_the_coin_replaces_the_verdict_of_the_rewards_as_they_are():
    """verl is not here: what a class overrides, and the names that it changes, are read from both files."""
    methods = {}
    for path in ("src/rlvr/training/backends/verl/reward.py", "benchmarks/rehearsal/modules/rehearsal_coin.py"):
        classes = [node for node in ast.parse((ROOT / path).read_text()).body if isinstance(node, ast.ClassDef)]
        methods[classes[-1].name] = {one.name: one for one in classes[-1].body if isinstance(one, ast.FunctionDef)}
    for name, method in methods["Coin"].items():
        own, overridden = method.args, methods["Verified"][name].args
        assert [arg.arg for arg in own.args] == [arg.arg for arg in overridden.args][: len(own.args)]
        assert own.vararg or len(own.args) == len(overridden.args)
    names = {"reward_score", "reward_extra_info", "acc", "status"}
    assert all(f'"{name}"' in (ROOT / "src/rlvr/training/backends/verl/reward.py").read_text() for name in names)


def test_a_change_of_no_key_is_refused(load):
    specs = {"run": {"rl": {"steps": 3}}}
    load("kit").change(specs, "run.rl.steps", 4)
    assert specs == {"run": {"rl": {"steps": 4}}}
    with pytest.raises(KeyError, match="no 'stepps'; there are steps"):
        load("kit").change(specs, "run.rl.stepps", 4)


def test_sampling_in_the_rehearsal_warms_up_and_says_how_long_its_engine_started(monkeypatch, load):
    """The stage takes its engine from the registry, so that is where the rehearsal's own has to be."""
    module = load("modules/rehearsal_sampling")
    monkeypatch.setattr(module.engine, "ENGINE", module.engine.ENGINE)
    monkeypatch.setattr(module.engine, "options", module.engine.options)
    monkeypatch.setattr(module.engine.Vllm, "draw", module.engine.Vllm.draw)
    monkeypatch.setattr(ENGINES, "_loaded", {})
    taken = []
    monkeypatch.setattr(module.typer, "run", lambda main: taken.append(ENGINES.load("vllm").load))
    settings = ROOT / "build" / "absent.json"
    monkeypatch.setattr(module.Path, "read_text", lambda self: "{}" if self == settings else "")
    monkeypatch.setattr(module.sys, "argv", ["rehearsal_sampling.py", str(settings)])
    module.main()
    assert [one.__qualname__ for one in taken] == ["main.<locals>.loaded"]
