"""Memory of verl's padded path: microbatches by padded length, log-probabilities and entropy in chunks of rows."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rlvr.training.backends.verl import padded

V = 50
LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=60)


def logits_and_labels(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    logits = (3 * torch.randn(*shape, V, generator=generator)).to(dtype)
    return logits, torch.randint(0, V, shape, generator=generator)


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logprobs_and_their_gradient_are_those_of_log_softmax(monkeypatch, rows, dtype):
    monkeypatch.setattr(padded, "ROWS", rows)
    logits, labels = logits_and_labels(5, 20, dtype=dtype)
    weights = torch.randn(5, 20, generator=torch.Generator().manual_seed(2))
    found, expected = [], []
    for results, function in (
        (found, padded.logprobs),
        (expected, lambda x, y: x.float().log_softmax(-1).gather(-1, y[..., None])[..., 0]),
    ):
        leaf = logits.clone().requires_grad_()
        logprobs = function(leaf, labels)
        (weights * logprobs).sum().backward()
        results += [logprobs.detach(), leaf.grad]
    torch.testing.assert_close(found, expected)
    assert found[0].dtype == torch.float32


def test_entropy_is_the_mean_of_minus_log_p(monkeypatch):
    monkeypatch.setattr(padded, "ROWS", 7)
    logits, _ = logits_and_labels(5, 20)
    expected = torch.distributions.Categorical(logits=logits).entropy()
    torch.testing.assert_close(padded.entropy(logits), expected)
    torch.testing.assert_close(padded.entropy(torch.zeros(3, V)), torch.full((3,), float(V)).log())


def test_the_backward_pass_keeps_nothing_of_the_size_of_the_logits_in_float32(monkeypatch):
    monkeypatch.setattr(padded, "ROWS", 10)
    logits, labels = logits_and_labels(200, dtype=torch.bfloat16)
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        padded.logprobs(logits.requires_grad_(), labels)
    assert sum(kept.values()) <= 1.2 * (logits.nbytes + labels.nbytes)


@given(lengths=LENGTHS, budget=st.integers(40, 200))
def test_a_microbatch_with_its_padding_is_within_the_budget(lengths, budget):
    parts = padded.partition(lengths, budget)
    assert sorted(row for part in parts for row in part) == list(range(len(lengths)))
    assert all(part and len(part) * max(lengths[row] for row in part) <= budget for part in parts)


@given(lengths=LENGTHS, more=st.integers(0, 60))
def test_ranks_can_have_equally_many_microbatches(lengths, more):
    parts = padded.partition(lengths, 80)
    count = min(len(lengths), len(parts) + more)
    made = padded.split(parts, count)
    assert len(made) == count and all(made)
    assert sorted(row for part in made for row in part) == list(range(len(lengths)))


def test_padding_costs_little_where_lengths_differ_much():
    """Responses of a real step: log-normal lengths up to 4,024 tokens."""
    generator = torch.Generator().manual_seed(0)
    lengths = (650 * torch.randn(2048, generator=generator).mul(0.7).exp()).clamp(150, 4024).long().tolist()
    parts = padded.partition(lengths, 16384)
    with_padding = sum(len(part) * max(lengths[row] for row in part) for part in parts)
    assert with_padding < 1.1 * sum(lengths)
    assert len(parts) < 1.25 * sum(lengths) / 16384


def test_a_sequence_beyond_the_budget_is_named():
    with pytest.raises(ValueError, match=r"a sequence has 81 tokens, a microbatch 80 \(execution.tokens_per_gpu\)"):
        padded.partition([3, 81], 80)


@pytest.mark.verl
def test_verls_own_functions_give_the_same_values():
    from verl.utils.torch_functional import entropy_from_logits, logprobs_from_logits_v2

    logits, labels = logits_and_labels(30)
    torch.testing.assert_close(padded.logprobs(logits, labels), logprobs_from_logits_v2(logits, labels))
    torch.testing.assert_close(padded.entropy(logits), entropy_from_logits(logits))
