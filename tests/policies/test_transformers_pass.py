"""The trainer's pass on a GPU against the decoder, which is tested against transformers' logits; on the CPU here."""

import pytest
import torch
from conftest import tiny

from rlvr.policies import transformers_pass
from rlvr.policies.decoder import Decoder
from rlvr.policies.transformers_pass import TransformersPass


@pytest.fixture(params=["qwen2", "qwen3", "llama"])
def model(request):
    return tiny(request.param).model


def inputs():
    """Seven responses of different lengths to three prompts of different lengths, padded with tokens that matter."""
    generator = torch.Generator().manual_seed(1)
    prompts_PL = torch.randint(4, 70, (3, 8), generator=generator)
    responses_NT = torch.randint(4, 70, (7, 12), generator=generator)
    lengths_N = torch.tensor([12, 1, 7, 3, 12, 9, 2])
    return prompts_PL, torch.tensor([5, 8, 6]), torch.tensor([0, 1, 2, 0, 1, 2, 1]), responses_NT, lengths_N


def test_log_probabilities_and_gradients_are_the_decoders(model, monkeypatch):
    monkeypatch.setattr(transformers_pass, "TOKENS", 5)  # several pieces of logits
    given = inputs()
    real_NT = torch.arange(12) < given[-1][:, None]
    weights_NT = torch.randn(7, 12, generator=torch.Generator().manual_seed(2)) * real_NT
    results = {}
    for kind in (Decoder, TransformersPass):
        model.zero_grad()
        logprobs_NT = kind(model).logprobs(*given)
        (logprobs_NT * weights_NT).sum().backward()
        results[kind] = logprobs_NT.detach() * real_NT, [p.grad.clone() for p in model.parameters()]
    for ours, theirs in zip(results[TransformersPass][1], results[Decoder][1], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(results[TransformersPass][0], results[Decoder][0], rtol=1e-4, atol=1e-5)
    assert not results[TransformersPass][0][~real_NT].any()


def test_padding_changes_nothing(model):
    prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N = inputs()
    once = TransformersPass(model).logprobs(prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N)
    responses_NT = responses_NT.where(torch.arange(12) < lengths_N[:, None], 4)
    prompts_PL = prompts_PL.where(torch.arange(8) < lengths_P[:, None], 4)
    again = TransformersPass(model).logprobs(prompts_PL, lengths_P, prompt_N, responses_NT, lengths_N)
    assert torch.equal(once, again)


def test_without_gradients_the_values_are_the_same(model):
    forward = TransformersPass(model)
    with_gradients = forward.logprobs(*inputs())
    with torch.no_grad():
        assert torch.equal(forward.logprobs(*inputs()), with_gradients.detach())
    assert not model.training


def test_activations_do_not_grow_with_the_square_of_the_length(model):
    """Bytes that autograd keeps for one row of twice the length are at most twice as many."""

    def kept(length):
        held = {}

        def pack(tensor):
            held[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        prompts_PL, responses_NT = torch.full((1, 4), 5), torch.full((1, length), 6)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            result = TransformersPass(model).logprobs(prompts_PL, torch.tensor([4]), torch.tensor([0]), responses_NT)
        for parameter in model.parameters():
            held.pop(parameter.untyped_storage().data_ptr(), None)
        assert result.requires_grad
        return sum(held.values())

    assert kept(512) < 2.1 * kept(256)
