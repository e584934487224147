"""The change of weights of a run, by hand: shares, alignment, tokens, sketches; and hidden states by brute force."""

import itertools
import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from rlvr.files import RecordError
from rlvr.papers.fade.weights import change, hidden
from rlvr.papers.fade.weights.change import Change, Stored
from rlvr.policies import store
from rlvr.training import measure_run
from rlvr.training.batches import Groups, pad_prompts


def weights(seed, *, tied=False, layers=2):
    generator = torch.Generator().manual_seed(seed)
    shapes = {"model.embed_tokens.weight": (12, 8), "model.norm.weight": (8,)}
    shapes |= {} if tied else {"lm_head.weight": (12, 8)}
    for i in range(layers):
        shapes |= {f"model.layers.{i}.mlp.up_proj.weight": (16, 8), f"model.layers.{i}.input_layernorm.weight": (8,)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def stored(tmp_path, name, content):
    save_file(content, tmp_path / f"{name}.safetensors")
    return Stored([tmp_path / f"{name}.safetensors"])


def test_shares_of_squared_norms_sum_to_one(tmp_path):
    before, after = weights(0), weights(1)
    made = Change(stored(tmp_path, "a", before), stored(tmp_path, "b", after))
    row = made.row()
    square = {name: float((after[name] - before[name]).pow(2).sum()) for name in before}
    whole = sum(square.values())
    assert row["weights_l2"] == pytest.approx(whole**0.5)
    of_base = sum(float(w.pow(2).sum()) for w in before.values())
    assert row["weights_l2_relative"] == pytest.approx((whole / of_base) ** 0.5)
    assert row["head_share"] == pytest.approx(square["lm_head.weight"] / whole)
    rest = (square["model.embed_tokens.weight"] + square["model.norm.weight"]) / whole
    assert row["head_share"] + sum(row["layer_shares"]) + rest == pytest.approx(1.0)
    assert sum(made.shares().values()) == pytest.approx(1.0)
    assert made.shares()["lm_head.weight"] == pytest.approx(row["head_share"])
    assert row["layer_share"] == pytest.approx(sum(row["layer_shares"]) / 2)
    delta = (after["lm_head.weight"] - before["lm_head.weight"]).double().numpy()
    s = np.linalg.svd(delta, compute_uv=False)
    assert row["rank_1_share"] == pytest.approx(s[0] ** 2 / (s**2).sum())
    assert row["s1_over_s2"] == pytest.approx(s[0] / s[1])


def test_a_tied_head_is_the_embedding(tmp_path):
    made = Change(*(stored(tmp_path, f"w{seed}", weights(seed, tied=True)) for seed in (0, 1)))
    assert made.head == "model.embed_tokens.weight" and 0 < made.row()["head_share"] < 1


def test_no_change_has_no_shares_and_other_weights_are_refused(tmp_path):
    base = stored(tmp_path, "a", weights(0))
    row = Change(base, base).row()
    assert row["weights_l2"] == 0 and row["head_share"] is None and row["rank_1_share"] is None
    with pytest.raises(RecordError, match="other weights"):
        Change(base, stored(tmp_path, "b", weights(1, layers=3)))


def test_alignment_with_the_last_step(tmp_path):
    before, last = weights(0), weights(1)
    half = {name: before[name] + 0.5 * (last[name] - before[name]) for name in before}
    base = stored(tmp_path, "a", before)
    end, same, other = (Change(base, stored(tmp_path, f"x{i}", w)) for i, w in enumerate((last, half, weights(2))))
    assert same.alignment(end)["align_head"] == pytest.approx(1.0) and same.alignment(end)["align_late"] is None
    changes = [(w["lm_head.weight"] - before["lm_head.weight"]).double().numpy() for w in (last, weights(2))]
    u = [np.linalg.svd(matrix)[0][:, 0] for matrix in changes]
    assert other.alignment(end)["align_head"] == pytest.approx(abs(u[0] @ u[1]))


def test_sketches_estimate_cosines(tmp_path):
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(400, 100, generator=generator)
    b = 0.6 * a + 0.8 * torch.randn(400, 100, generator=generator)
    contents = {"base": torch.zeros(400, 100), "a": a, "b": b}
    base, *others = (stored(tmp_path, name, {"model.embed_tokens.weight": w}) for name, w in contents.items())
    x, y = (np.array(change.sketch(base, file)) for file in others)
    exact = float(torch.nn.functional.cosine_similarity(a.flatten(), b.flatten(), dim=0))
    assert x @ y / np.linalg.norm(x) / np.linalg.norm(y) == pytest.approx(exact, abs=5 / 8192**0.5)


def test_suppressed_tokens():
    head = change.spectrum.of(torch.outer(torch.tensor([3.0, 4.0, -0.1, 1.0]), torch.tensor([1.0, 2.0])))
    found = change.suppressed(head, ["a", "b", "c", "d"])
    assert found["lowered"][:3] == ["b", "a", "d"] and found["raised"] == ["c", "d", "a", "b"]
    shares = change.token_shares(head, 4)
    assert shares == {"negative_share": 0.75, "half_energy_share": 0.25}, "the second token alone has 16 of 26"
    assert change.token_shares(head, 3)["negative_share"] == pytest.approx(2 / 3), "a fourth row that pads is left out"
    nothing = change.spectrum.of(torch.zeros(4, 2))
    assert set(change.token_shares(nothing, 4).values()) == {None}


# ---- hidden states -------------------------------------------------------------------------------


def test_measures_by_brute_force():
    generator = torch.Generator().manual_seed(1)
    h, v = torch.randn(9, 4, generator=generator), torch.randn(9, 6, generator=generator)
    advantages = torch.randn(9, generator=generator)
    correct = torch.tensor([True] * 4 + [False] * 5)
    parts = [slice(0, 3), slice(3, 9)]
    row = hidden.measures(hidden.summed((h[i], v[i], advantages[i], correct[i]) for i in parts))
    u = np.linalg.svd(h.double().numpy())[2][0]
    rest = h.numpy() - np.outer(h.numpy() @ u, u)
    residual = sum(np.outer(v[i].numpy(), rest[i]) for i in range(4)) / 4
    assert row["norm_correct_hidden"] == pytest.approx(np.linalg.norm(residual), rel=1e-5)
    gradient = sum(float(advantages[i]) * np.outer(v[i].numpy(), h[i].numpy()) for i in range(9))
    w = np.linalg.svd(gradient)[2][0]
    rest = h.numpy() - np.outer(h.numpy() @ w, w)
    unit = rest[4:] / np.linalg.norm(rest[4:], axis=1, keepdims=True)
    cosines = [a @ b for a, b in itertools.combinations(unit, 2)]
    assert row["rho_failed_gradient"] == pytest.approx(np.mean(cosines), abs=1e-5)
    assert row["clt"] == pytest.approx((4 / 5) ** 0.5) and (row["tokens_correct"], row["tokens_failed"]) == (4, 5)
    row = hidden.measures(hidden.summed([(h, v, advantages, torch.arange(9) > 0)]))
    assert row["clt"] is None and row["rho_failed_hidden"] is None, "one failed token"


def groups(policy) -> Groups:
    tokens = torch.tensor([[[8, 9, 2], [10, 2, 0]], [[11, 2, 0], [12, 13, 14]]])
    return Groups(*pad_prompts([[1, 5, 6], [1, 7]], policy.pad, "cpu"), tokens, torch.tensor([[3, 2], [2, 3]]))


def test_rows_apart_have_the_states_of_rows_together(monkeypatch, policy):
    correct = torch.tensor([[True, False], [False, False]])
    with torch.no_grad():
        whole = hidden.measures(hidden.summed(hidden._with_weights(policy.model, groups(policy), correct)))
        monkeypatch.setattr(hidden, "AT_ONCE", 1)
        rows = list(hidden._with_weights(policy.model, groups(policy), correct))
        apart = hidden.measures(hidden.summed(rows))
    assert [len(h) for h, *_ in rows] == [3, 2, 2, 3] and [a[0].item() for _, _, a, _ in rows] == [0.5, -0.5, 0, 0]
    assert apart == pytest.approx(whole, rel=1e-3, abs=1e-6)
    assert (whole["tokens_correct"], whole["tokens_failed"]) == (3, 7)


def test_states_are_those_that_logits_come_from(policy):
    with torch.no_grad():
        _, _, h, v = zip(*hidden.states(policy.model, groups(policy)), strict=True)
        h, v = torch.cat(h), torch.cat(v)
        assert len(h) == 3 + 2 + 2 + 3
        logits = policy.model(torch.tensor([[1, 7, 12, 13, 14]])).logits[0]
    error = -logits[2].softmax(-1)
    error[13] += 1
    assert torch.allclose(v[-2], error, atol=1e-5)
    assert torch.allclose(policy.model.lm_head(h[-2]), logits[2], atol=1e-4)


def test_the_stage_measures_each_kept_step(tmp_path, policy):
    """Two runs' worth of files by hand: a base policy, a result and the weights of two steps."""
    manifests = {}
    for name in ("base", "run"):
        folder = tmp_path / name / "policy"
        if name == "run":
            with torch.no_grad():
                for tensor in policy.model.parameters():
                    tensor.add_(0.01 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(3)))
        sums = store.save(policy, folder)
        manifests[name] = tmp_path / name / "manifest.json"
        store.publish_manifest(manifests[name], folder, sums, policy.template, step=4)
    state = {name: tensor for name, tensor in policy.model.state_dict().items() if name != "lm_head.weight"}
    kept = {step: {name: tensor.detach().clone() for name, tensor in state.items()} for step in (0, 2, 4)}
    store.save_kept(tmp_path / "run" / store.KEPT, kept)
    problems, out = tmp_path / "problems.jsonl", tmp_path / "out" / "rows.jsonl"
    measure_run.main("weights", manifests["base"], manifests["run"], problems, out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["step"] for row in rows] == [2, 4]
    assert rows[0]["weights_l2"] == pytest.approx(rows[1]["weights_l2"]) and rows[0]["align_head"] == pytest.approx(1.0)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["head"] == "tied to the embedding" and len(summary["sketch"]) == change.SKETCH
