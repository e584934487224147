"""Trainers and samplers that are not everywhere: what a plan takes instead, what it says, what it refuses."""

from dataclasses import replace

import pytest
from conftest import ROOT
from support.own_config import copied, refused

from rlvr.config import identity
from rlvr.config.registries import BACKENDS, ENGINES
from rlvr.planning.expansion import make_plan
from rlvr.policies.native import library
from rlvr.report import layout


@pytest.fixture
def without_engine(monkeypatch):
    monkeypatch.setattr(library, "built", lambda: ())
    monkeypatch.setattr(library, "usable", lambda: [])


def members_of(plan) -> set[str]:
    """The trainers and samplers of a plan."""
    trainers = {spec.rl.backend for spec in plan.runs.values()} | {spec.sft.backend for spec in plan.policies.values()}
    return trainers | {spec.sampling.engine for spec in plan.evaluations.values()}


def test_the_small_scales_train_and_sample_with_the_native_engine():
    for scale in ("laptop", "smoke", "full-laptop"):
        plan = make_plan(ROOT, scale, ["ace"])
        assert members_of(plan) == {"native"} and not plan.notes


def test_without_the_engine_torch_takes_its_place_and_the_plan_says_so(without_engine):
    plan = make_plan(ROOT, "smoke", ["ace", "lens"])
    assert members_of(plan) == {"in_process"}
    assert [note.split(":")[0] for note in plan.notes] == ["sft.backend", "rl.backend", "evaluation.engine"]
    assert all("in_process instead of native, since it is built for other" in note for note in plan.notes)
    assert layout.of_page(plan, "index")["notes"] == plan.notes


def newer(name, kind):
    return replace(kind, version=kind.version + 1) if name == "native" else kind


def test_the_engine_is_in_the_identity_and_so_is_its_version(without_engine, monkeypatch):
    torch = make_plan(ROOT, "smoke", ["ace"])
    monkeypatch.undo()
    native = make_plan(ROOT, "smoke", ["ace"])
    for kind in ("runs", "policies", "evaluations"):
        ours, theirs = getattr(native, kind), getattr(torch, kind)
        assert len(ours) == len(theirs) and not set(ours) & set(theirs)
    for registry in (BACKENDS, ENGINES):
        monkeypatch.setattr(registry, "load", lambda name, load=registry.load: newer(name, load(name)))
    for specs in (native.runs, native.policies, native.evaluations):
        assert not any(name.endswith(identity.digest(spec)) for name, spec in specs.items())
    for specs in (torch.runs, torch.policies):
        assert all(name.endswith(identity.digest(spec)) for name, spec in specs.items())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("rl: {backend: native, precision: bfloat16}", "in precision float32, not bfloat16"),
        ("evaluation: {engine: native, precision: bfloat16}", "in precision float32, not bfloat16"),
        ("rl: {backend: native}\n  execution: {device: gpu}", "with execution.device: cpu, not gpu"),
    ],
)
def test_what_the_engine_does_not_compute_is_refused(tmp_path, settings, said):
    scale = copied(tmp_path) / "config/scale/own.yaml"
    scale.write_text(f"like: smoke\nname: own\nabout: x\nsettings:\n  {settings}\n")
    refused(tmp_path, f"native computes {said}", "ace", scale="own")
