"""The native engine behind torch: its place in autograd, and AdamW on its flat weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from support.native_models import SHAPES, made, rows, saved

from rlvr.policies.native.saved import named
from rlvr.policies.native.trained import FlatAdamW, NativeModel
from rlvr.training.batches import Groups
from rlvr.training.forward import Microbatch, training_passes
from rlvr.training.sft import step_loss


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


def test_parts_of_a_batch_on_two_threads_give_the_numbers_of_one_thread(model):
    """SFT's loss and gradients by two engines on the same weights, side by side or in turn, over optimizer steps."""
    generator = torch.Generator().manual_seed(3)

    def trained(each, parts: int) -> tuple[list[float], torch.Tensor, torch.Tensor]:
        ours = NativeModel(saved(model))
        passes, flat = training_passes(ours, parts), FlatAdamW(ours.flat, lr=0.01, betas=(0.9, 0.95), weight_decay=0.1)
        losses, first = [], torch.zeros(0)
        for batch in batches:
            losses.append(float(step_loss(passes, batch, Microbatch(), each)))
            assert ours.flat.grad is not None and all(other.flat.grad is None for other in passes[1:])
            first = first if len(losses) > 1 else ours.flat.grad.clone()
            flat.step()
            flat.zero_grad()
        return losses, first, ours.flat.detach()

    batches = []
    for count in (7, 6, 1):
        tokens = torch.randint(saved(model).model.vocab, (2, count, 9), generator=generator)
        lengths = torch.randint(1, 10, (2, count), generator=generator)
        batches.append(Groups(tokens[0], lengths[0], tokens[1][:, None], lengths[1][:, None]))
    with ThreadPoolExecutor(2) as pool:
        beside, in_turn, whole = trained(pool.map, 2), trained(map, 2), trained(map, 1)
    assert beside[0] == in_turn[0] and torch.equal(beside[2], in_turn[2])
    assert beside[0] == pytest.approx(whole[0], rel=1e-5)
    assert torch.allclose(beside[1], whole[1], rtol=1e-4, atol=1e-6), "gradients of parts add up to that of all"
