"""Weights that a run keeps for tables of their change, and last layers that go back to the base policy."""

import json

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file, save_file
from support.runs_by_hand import changed, same_results
from test_training import kill_at, trainer

from rlvr.config import identity
from rlvr.config.registries import BACKENDS, BackendKind
from rlvr.config.schema.specs import RunSpec
from rlvr.papers.fade.weights import change
from rlvr.policies.store import HEAD, KEPT, KEPT_OF_STEP, last_layers
from rlvr.training.backends.verl.state import RunFolder
from rlvr.training.deterministic import one_thread


@pytest.fixture(scope="module", params=["native", "in_process"])
def kept_spec(request, workbench):
    probe = {"every": 20, "dense_steps": 1, "keep_weights": True}
    return changed(workbench.spec, rl={"steps": 60, "backend": request.param}, probe=probe)


@pytest.fixture(scope="module")
def kept(workbench, kept_spec, tmp_path_factory):
    out = tmp_path_factory.mktemp("kept")
    workbench.train(kept_spec, out)
    return out


def test_the_weights_of_each_probe_are_kept_and_measured(workbench, kept):
    tensors = load_file(kept / KEPT)
    steps = sorted({int(name.split("/")[0]) for name in tensors})
    assert steps == [json.loads(line)["step"] for line in (kept / "probe.jsonl").read_text().splitlines()]
    assert steps == [0, 1, 20, 40, 60]
    (folder,) = kept.glob("policy-step*")
    for name, tensor in load_file(folder / "model.safetensors").items():
        assert torch.equal(tensors[f"60/{name}"], tensor)
    rows, _ = change.of_run(workbench.base, kept / "manifest.json")
    assert [row["step"] for row in rows] == steps[1:]
    assert rows[0]["weights_l2"] < rows[-1]["weights_l2"] and rows[-1]["align_head"] == pytest.approx(1.0)


@pytest.mark.slow
def test_a_kill_changes_no_kept_weights(workbench, kept_spec, kept, tmp_path):
    kill_at(workbench, kept_spec, tmp_path, 25, save_every=5)
    workbench.train(kept_spec, tmp_path, save_every=5)
    same_results(kept, tmp_path, steps=60)
    assert (kept / KEPT).read_bytes() == (tmp_path / KEPT).read_bytes()


def test_the_last_layers_go_back_to_the_reference(workbench):
    one_thread()
    made = trainer(workbench, "dr_grpo")
    made.spec = changed(made.spec, rl={"last_layers": 1, "last_layers_resets": 2})
    for _ in range(2):
        made.advance()
    before = {name: tensor.clone() for name, tensor in made.model.state_dict().items()}
    made._reset_last_layers()
    reference, now = made.reference_model.state_dict(), made.model.state_dict()
    back = {name for name in now if not torch.equal(now[name], before[name])}
    last = max(int(name.split(".")[2]) for name in now if name.startswith("model.layers."))
    assert back and all(name.startswith(f"model.layers.{last}.") or name == "model.norm.weight" for name in back)
    assert all(torch.equal(now[name], reference[name]) for name in back)
    assert torch.equal(now["model.embed_tokens.weight"], before["model.embed_tokens.weight"]), "a tied head stays"


def test_an_untied_head_goes_back_too(workbench):
    one_thread()
    made = trainer(workbench, "dr_grpo")
    made.spec = changed(made.spec, rl={"last_layers": 1, "last_layers_resets": 2})
    for model in (made.model, made.reference_model):
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    with torch.no_grad():
        made.model.lm_head.weight.add_(1.0)
    made._reset_last_layers()
    assert torch.equal(made.model.lm_head.weight, made.reference_model.lm_head.weight)


def test_resets_happen_at_their_steps(workbench, monkeypatch):
    one_thread()
    made = trainer(workbench, "dr_grpo")
    made.spec = changed(made.spec, rl={"steps": 6, "last_layers": 1, "last_layers_resets": 2})
    called = []
    monkeypatch.setattr(made, "_reset_last_layers", lambda: called.append(made.step))
    for _ in range(5):
        made.advance()
    assert called == [2, 4]


@pytest.mark.parametrize(
    "steps, resets, after", [(50, 9, list(range(5, 50, 5))), (11, 2, [4, 7]), (2, 9, [1]), (1, 3, []), (9, 0, [])]
)
def test_the_resets_lie_at_equal_distances(workbench, steps, resets, after):
    spec = changed(workbench.spec, rl={"steps": steps, "last_layers": int(resets > 0), "last_layers_resets": resets})
    assert spec.last_layers_steps == after


@pytest.mark.parametrize("layers, asked, reset", [(28, 4, 4), (3, 4, 1), (1, 2, 1)])
def test_at_most_half_of_the_layers_go_back(layers, asked, reset):
    names = ["model.embed_tokens.weight", *(f"model.layers.{i}.mlp.up_proj.weight" for i in range(layers))]
    assert last_layers([*names, "model.norm.weight", HEAD], asked) == [*names[-reset:], "model.norm.weight", HEAD]


def test_a_backend_that_cannot_keep_weights_is_refused(workbench, monkeypatch):
    content = workbench.spec.model_dump(mode="json")
    content["probe"]["keep_weights"] = True
    for backend in ("in_process", "native", "verl"):
        content["rl"]["backend"] = backend
        assert RunSpec.model_validate(content).kept_steps
    monkeypatch.setattr(BACKENDS, "load", lambda name: BackendKind(stages={}))
    with pytest.raises(ValidationError, match="verl cannot do that"):
        RunSpec.model_validate(content)


def test_some_of_the_probed_steps_are_kept(workbench, kept_spec, kept, tmp_path):
    """In one file, or in a file for each step, as verl has them: the measure is that of all, at these steps."""
    spec = changed(kept_spec, probe={"keep_steps": (20, 40)})
    assert spec.kept_steps == [20, 40] and kept_spec.kept_steps == [0, 1, 20, 40, 60]
    assert identity.digest(spec) != identity.digest(kept_spec)
    workbench.train(spec, tmp_path)
    assert change.kept_steps(tmp_path / "manifest.json") == [20, 40]
    rows, summary = change.of_run(workbench.base, tmp_path / "manifest.json")
    whole, _ = change.of_run(workbench.base, kept / "manifest.json")
    assert rows == [row for row in whole if row["step"] in (20, 40, 60)]
    tensors = load_file(tmp_path / KEPT)
    for step in (20, 40):
        of_step = {name: tensor for name, tensor in tensors.items() if name.startswith(f"{step}/")}
        save_file(of_step, tmp_path / KEPT_OF_STEP.format(step))
    (tmp_path / KEPT).unlink()
    assert change.of_run(workbench.base, tmp_path / "manifest.json") == (rows, summary)


@pytest.mark.parametrize(
    "probe, message",
    [
        ({"keep_weights": False}, "no effect without keep_weights"),
        ({"keep_steps": [20, 30]}, "30 is no probed step"),
        ({"keep_steps": [80]}, "80 is beyond the run's 60 steps"),
    ],
)
def test_steps_that_cannot_be_kept_are_errors(kept_spec, probe, message):
    content = kept_spec.model_dump(mode="json")
    content["probe"] |= {"keep_steps": [20], **probe}
    with pytest.raises(ValidationError, match=message):
        RunSpec.model_validate(content)


def test_what_verl_kept_is_published_or_missed(tmp_path):
    folder, out = RunFolder(tmp_path / "state"), tmp_path / "out"
    out.mkdir()
    for step in (2, 4):
        folder.kept(step).parent.mkdir(parents=True, exist_ok=True)
        folder.kept(step).write_text(str(step))
    folder.publish_kept([2], out)
    folder.publish_kept([2, 4], out)  # the first was moved before the stage ended
    assert [path.read_text() for path in sorted(out.iterdir())] == ["2", "4"]
    with pytest.raises(SystemExit, match=r"step000006\.safetensors: missing"):
        folder.publish_kept([2, 6], out)


def test_layers_and_period_belong_together(workbench):
    content = workbench.spec.model_dump(mode="json")
    content["rl"]["last_layers"] = 2
    with pytest.raises(ValidationError, match="belong together"):
        RunSpec.model_validate(content)
