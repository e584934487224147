"""Weights that a run keeps for tables of their change, and last layers that go back to the base policy."""

import json

import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import load_file
from support.runs_by_hand import changed, same_results
from test_training import kill_at, trainer

from rlvr.config.schema.specs import RunSpec
from rlvr.papers.fade.weights import change
from rlvr.policies.store import HEAD, KEPT, last_layers
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


def test_verl_refuses_what_it_cannot_do(workbench):
    content = workbench.spec.model_dump(mode="json")
    content["rl"]["backend"] = "verl"
    content["probe"]["keep_weights"] = True
    with pytest.raises(ValidationError, match="verl cannot do that"):
        RunSpec.model_validate(content)


def test_layers_and_period_belong_together(workbench):
    content = workbench.spec.model_dump(mode="json")
    content["rl"]["last_layers"] = 2
    with pytest.raises(ValidationError, match="belong together"):
        RunSpec.model_validate(content)
