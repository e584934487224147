"""The native engine behind torch: its place in autograd, and AdamW on its flat weights."""

from __future__ import annotations

import pytest
import torch
from support.native_models import SHAPES, made, rows, saved

from rlvr.policies.native.saved import named
from rlvr.policies.native.trained import FlatAdamW, NativeModel


@pytest.fixture(params=SHAPES)
def model(request):
    return made(*SHAPES[request.param])


def test_autograd_differentiates_the_latest_pass_once(model):
    ours = NativeModel(saved(model))
    batch = [torch.from_numpy(array) for array in rows(ours.shape.vocab, 1)]
    first, second = ours.logprobs(*batch), ours.logprobs(*batch)
    with pytest.raises(RuntimeError, match="another pass"):
        first.sum().backward()
    second.sum().backward()
    assert ours.flat.grad is not None and bool(ours.flat.grad.any())
    with torch.no_grad():
        assert not ours.logprobs(*batch).requires_grad


def test_the_optimizer_is_torchs_and_the_engine_sees_each_step(model):
    """AdamW on one flat tensor, to the bit that of torch on each weight alone; saved and restored on the way."""
    ours = NativeModel(saved(model))
    batch = [torch.from_numpy(array) for array in rows(ours.shape.vocab, 1)]
    settings = {"lr": 0.01, "betas": (0.9, 0.95), "weight_decay": 0.1}
    flat, weights = (
        FlatAdamW(ours.flat, **settings),
        {k: v.clone().requires_grad_() for k, v in ours.state_dict().items()},
    )
    theirs = torch.optim.AdamW(weights.values(), **settings, fused=True)
    for step in range(4):
        before = ours.logprobs(*batch)
        before.sum().backward()
        gradients = named(ours.shape, ours.flat.grad)
        for tensor, part in zip(weights.values(), gradients.values(), strict=True):
            tensor.grad = part.clone()
        flat.step()
        theirs.step()
        for name, tensor in ours.state_dict().items():
            assert torch.equal(tensor, weights[name]), (step, name)
        with torch.no_grad():
            assert not torch.equal(ours.logprobs(*batch), before)
        flat.zero_grad()
        state = {key: value.clone() for key, value in flat.state_dict().items()}
        flat = FlatAdamW(ours.flat, **settings)
        flat.load_state_dict(state)
