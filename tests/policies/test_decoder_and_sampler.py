"""The forward pass against transformers' own; the sampler against exact probabilities."""

import numpy as np
import pytest
import torch
from conftest import tiny

from rlvr.policies.decoder import Decoder, supports
from rlvr.policies.noise import uniform_noise
from rlvr.policies.sampler import nucleus, pick, probabilities, sample


@pytest.fixture(params=["qwen2", "qwen3", "llama"])
def model(request):
    return tiny(request.param).model


def batch(prompts=5, groups=3, longest=8, tokens=12):
    generator = torch.Generator().manual_seed(1)
    prompts_PL = torch.randint(4, 70, (prompts, longest), generator=generator)
    lengths_P = torch.tensor([5, 8, 6, 7, 8][:prompts])
    responses_PGT = torch.randint(4, 70, (prompts, groups, tokens), generator=generator)
    return prompts_PL, lengths_P, responses_PGT


def rows(responses_PGT):
    """Responses as rows, in an order that is not the prompts', and the prompt of each."""
    prompts, members, _ = responses_PGT.shape
    order = torch.randperm(prompts * members, generator=torch.Generator().manual_seed(4))
    return order, torch.arange(prompts).repeat_interleave(members)[order], responses_PGT.flatten(0, 1)[order]


def grouped(values_N, order, like_PGT):
    return torch.empty_like(values_N).index_copy(0, order, values_N).unflatten(0, like_PGT.shape[:2])


def test_logits_are_those_of_transformers(model):
    prompts_PL, lengths_P, responses_PGT = batch()
    order, prompt_N, responses_NT = rows(responses_PGT)
    logits_NTV = Decoder(model).logits(prompts_PL, lengths_P, prompt_N, responses_NT)
    ours = grouped(logits_NTV, order, responses_PGT)
    for p, length in enumerate(lengths_P.tolist()):
        whole = torch.cat([prompts_PL[p, :length].expand(3, -1), responses_PGT[p]], dim=-1)
        theirs = model(whole).logits[:, length - 1 : -1]
        torch.testing.assert_close(ours[p], theirs, rtol=1e-4, atol=2e-6)
    scored = Decoder(model).logprobs(prompts_PL, lengths_P, prompt_N, responses_NT)
    expected = logits_NTV.log_softmax(-1).gather(-1, responses_NT[..., None]).squeeze(-1)
    torch.testing.assert_close(scored, expected, rtol=1e-4, atol=2e-6)


def test_gradients_are_those_of_transformers(model):
    prompts_PL, _, responses_PGT = batch()
    lengths_P = torch.full((5,), 8)
    _, prompt_N, responses_NT = rows(responses_PGT)
    Decoder(model).logits(prompts_PL, lengths_P, prompt_N, responses_NT).logsumexp(-1).sum().backward()
    ours = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    whole = torch.cat([prompts_PL[:, None].expand(-1, 3, -1), responses_PGT], dim=-1).flatten(0, 1)
    model(whole).logits[:, 7:-1].logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(ours[name], parameter.grad, rtol=1e-3, atol=1e-3, msg=name)


def test_sampled_logprobs_are_those_of_a_forward_pass(model):
    prompts_PL, lengths_P, _ = batch()
    noise = torch.rand(5, 3, 20, generator=torch.Generator().manual_seed(2))
    drawn = sample(Decoder(model, frozen=True), prompts_PL, lengths_P, noise, eos_token=9, pad_token=0)
    order, prompt_N, tokens_NT = rows(drawn.tokens_PGT)
    logits = Decoder(model).logits(prompts_PL, lengths_P, prompt_N, tokens_NT)
    log_p = grouped(logits.log_softmax(-1), order, drawn.tokens_PGT)
    expected = log_p.gather(-1, drawn.tokens_PGT[..., None]).squeeze(-1) * drawn.mask_PGT()
    torch.testing.assert_close(drawn.logprobs_PGT, expected, rtol=1e-4, atol=1e-5)
    entropy = -(log_p.exp() * log_p).sum(-1) * drawn.mask_PGT()
    torch.testing.assert_close(drawn.entropy_PGT, entropy, rtol=1e-4, atol=1e-5)


def test_a_batch_of_many_is_many_batches_of_one(policy):
    """Also where responses end at different times, and where they part after a common beginning."""
    prompts_PL, lengths_P, _ = batch()
    noise = torch.from_numpy(np.stack([uniform_noise((3, p), 6, 24) for p in range(5)]))
    frozen = Decoder(policy.model, frozen=True)
    ends = torch.tensor(range(4, 30))  # an end token that about a third of draws hit: use one of them
    together = sample(frozen, prompts_PL, lengths_P, noise, eos_token=int(ends[3]), pad_token=0)
    assert together.lengths_PG.unique().numel() > 1
    firsts = together.tokens_PGT[..., 0].tolist()
    assert any(1 < len(set(row)) < len(row) for row in firsts), "some but not all begin alike"
    for p in range(5):
        for g in (p % 6, 5):
            prompt, length = prompts_PL[p : p + 1, : lengths_P[p]], lengths_P[p : p + 1]
            alone = sample(frozen, prompt, length, noise[p : p + 1, g : g + 1], eos_token=int(ends[3]), pad_token=0)
            n = int(alone.lengths_PG)
            assert n == int(together.lengths_PG[p, g])
            assert torch.equal(alone.tokens_PGT[0, 0, :n], together.tokens_PGT[p, g, :n])


def test_more_samples_keep_the_first_ones():
    assert np.array_equal(uniform_noise((1, 2), 8, 5)[:3], uniform_noise((1, 2), 3, 5))
    assert not np.array_equal(uniform_noise((1, 2), 3, 5), uniform_noise((1, 3), 3, 5))


def test_pick_follows_the_distribution():
    logits = torch.log(torch.tensor([[0.5, 0.3, 0.15, 0.05]]))
    noise = (torch.arange(10_000) + 0.5) / 10_000

    def shares(temperature, top_p=1.0):
        shaped = probabilities(logits, temperature=temperature, top_p=top_p)
        return torch.bincount(pick(shaped.cumsum(-1).repeat(10_000, 1), noise), minlength=4) / 10_000

    torch.testing.assert_close(shares(1.0), torch.tensor([0.5, 0.3, 0.15, 0.05]), atol=2e-4, rtol=0)
    half = torch.tensor([0.5, 0.3, 0.15, 0.05]) ** 2
    torch.testing.assert_close(shares(0.5), half / half.sum(), atol=2e-4, rtol=0)
    torch.testing.assert_close(shares(1.0, 0.7), torch.tensor([0.625, 0.375, 0.0, 0.0]), atol=2e-4, rtol=0)
    assert shares(0.0)[0] == 1.0
    assert pick(torch.tensor([[0.25, 1.0, 1.0]]), torch.tensor([1.0])).item() == 1, "never a token of probability 0"
    almost_one = torch.tensor([1 - 2**-26], dtype=torch.float64)
    assert pick(torch.tensor([[0.0, 1.0, 1.0, 1.0]]), almost_one).item() == 1


def test_nucleus_keeps_the_smallest_sufficient_set():
    logits = torch.log(torch.tensor([[0.15, 0.5, 0.05, 0.3]]))
    assert torch.isfinite(nucleus(logits, 0.8)).tolist() == [[False, True, False, True]]
    assert torch.isfinite(nucleus(logits, 0.81)).tolist() == [[True, True, False, True]]
    assert torch.isfinite(nucleus(logits, 0.01)).sum() == 1
    with pytest.raises(ValueError, match="top_p"):
        nucleus(logits, 0.0)


def test_other_architectures_are_refused():
    from transformers import GPT2Config, GPT2LMHeadModel

    other = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=50))
    assert not supports(other)
    with pytest.raises(ValueError, match="GPT2LMHeadModel"):
        Decoder(other)
