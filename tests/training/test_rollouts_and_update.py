"""Batches, rewards, measures, and that the update is the gradient of the stated loss."""

import itertools
import math

import pytest
import torch
from conftest import ROOT, tiny

from rlvr.data.tasks import operator_chain, operator_fill
from rlvr.estimators import Estimator
from rlvr.planning.papers import read_sources
from rlvr.policies.decoder import Decoder
from rlvr.policies.errors import NonFinite
from rlvr.policies.sources.scratch import scratch_policy
from rlvr.policies.transformers_pass import TransformersPass
from rlvr.records import Problem
from rlvr.training import measures
from rlvr.training.batches import Groups, PromptOrder, all_logprobs, chunks, pad_prompts, token_logprobs
from rlvr.training.forward import Microbatch, sampler
from rlvr.training.losses import aggregation
from rlvr.training.rollouts import Problems, collect, overlong_penalty
from rlvr.training.update import StepInputs, update
from rlvr.verifiers.pool import Pool, Verdict


def problems(count=6):
    texts = ["8 8 6 = 58", "1 2 3 = 6", "9 1 2 4 = 20", "2 2 2 = 8", "5 5 1 = 24", "3 4 5 6 = 30"][:count]
    return [Problem(f"p{i}", text, text, "n") for i, text in enumerate(texts)]


@pytest.fixture
def batch(plan):
    policy = tiny("qwen3")
    spec = next(iter(plan.runs.values()))
    torch.manual_seed(0)
    made = collect(
        policy,
        sampler(policy.model),
        Problems(policy, problems(), 16),
        PromptOrder(6, seed=1),
        Pool("operators"),
        seed=1,
        step=1,
        position=0,
        prompts=6,
        rollout=spec.rollout.model_copy(update={"max_response_tokens": 9, "dynamic_sampling": False}),
        reward=spec.reward,
    )
    return policy, spec, made


def plain_loss(policy, groups, advantages, old, reference, loss):
    """The objective written out, one sequence after another, through transformers' own forward pass."""
    total, tokens = torch.zeros((), dtype=torch.float64), int(groups.lengths_PG.sum())
    prompts, members = groups.lengths_PG.shape
    for p in range(prompts):
        for g in range(members):
            n, length = int(groups.lengths_PG[p, g]), int(groups.prompt_lengths_P[p])
            response = groups.tokens_PGT[p, g, :n]
            whole = torch.cat([groups.prompts_PL[p, :length], response])[None]
            log_p = policy.model(whole).logits[0, length - 1 : -1].log_softmax(-1)
            new = log_p.gather(-1, response[:, None]).squeeze(-1).double()
            ratio = (new - old[p, g, :n].double()).exp()
            a = float(advantages[p, g])
            surrogate = -torch.minimum(ratio * a, ratio.clamp(1 - loss.clip_low, 1 + loss.clip_high) * a)
            d = reference[p, g, :n].double() - new
            per_token = surrogate + loss.kl_coefficient * (d.exp() - d - 1)
            weight = {"token_mean": 1 / tokens, "sequence_mean": 1 / (prompts * members * n)}.get(
                loss.aggregation, 1 / (prompts * members * 9)
            )
            total = total + weight * per_token.sum()
    return total


def stepped(batch, advantages, old=None, reference=None, *, loss=None, forward=Decoder, limit=None, **more):
    """An update in one minibatch by SGD at rate 1, which moves each weight by its gradient: totals, and the moves."""
    policy, spec, made = batch
    before, sampled = [p.detach().clone() for p in policy.model.parameters()], made.samples.logprobs_PGT
    logprobs = sampled if old is None else old, sampled if reference is None else reference
    rl = spec.rl.model_copy(update={"prompts_per_minibatch": 6, "max_grad_norm": 1e9})
    step = StepInputs(made.groups, *logprobs, loss or spec.loss, rl, 9, limit or Microbatch(4), **more)
    optimizer = torch.optim.SGD(policy.model.parameters(), lr=1.0)
    totals = update(policy.model, forward(policy.model), optimizer, step, advantages)
    return totals, [start - p for p, start in zip(policy.model.parameters(), before, strict=True)]


def assert_gradients(moves, gradients):
    for moved, gradient in zip(moves, gradients, strict=True):
        torch.testing.assert_close(moved, gradient, rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("forward", [Decoder, TransformersPass])
@pytest.mark.parametrize("mode", aggregation.MODES)
def test_the_update_is_the_gradient_of_the_stated_loss(batch, mode, forward):
    policy, spec, made = batch
    loss = spec.loss.model_copy(update={"aggregation": mode, "kl_coefficient": 0.3})
    generator = torch.Generator().manual_seed(3)
    advantages = torch.randn(made.rewards_PG.shape, generator=generator)
    old = made.samples.logprobs_PGT + 0.2 * torch.randn(made.samples.logprobs_PGT.shape, generator=generator)
    reference = made.samples.logprobs_PGT + 0.2 * torch.randn(made.samples.logprobs_PGT.shape, generator=generator)
    expected_loss = plain_loss(policy, made.groups, advantages, old, reference, loss)
    gradients = torch.autograd.grad(expected_loss, list(policy.model.parameters()))
    totals, moves = stepped(batch, advantages, old, reference, loss=loss, forward=forward)
    assert math.isclose(totals.losses[0], float(expected_loss.detach()), rel_tol=1e-4, abs_tol=1e-6)
    assert_gradients(moves, gradients)


@pytest.mark.parametrize("score", ["rloo", "grpo"])
def test_a_coupled_update_is_the_gradient_of_the_estimators_own_loss(batch, score):
    """PACS' cross-entropy written out through transformers' own forward pass, away from the reference."""
    policy, spec, made = batch
    prompts, members = made.groups.lengths_PG.shape
    reference = made.samples.logprobs_PGT.sum(-1) + torch.randn(
        prompts, members, generator=torch.Generator().manual_seed(7)
    )
    rewards = (torch.arange(members) < torch.arange(1, prompts + 1)[:, None] % members).float()
    estimator = Estimator("pacs", {"beta": 0.5, "score": score})

    def coupled(rows, logp_PG):
        given = {"logp_PG": logp_PG, "logp_ref_PG": reference[rows]}
        now = rewards[rows], given
        return estimator.advantages(*now, {}), -estimator.objective(*now), estimator.figures(*now)

    sequences = []
    for p, g in itertools.product(range(prompts), range(members)):
        length = int(made.groups.prompt_lengths_P[p])
        response = made.groups.tokens_PGT[p, g, : made.groups.lengths_PG[p, g]]
        whole = torch.cat([made.groups.prompts_PL[p, :length], response])[None]
        log_p = policy.model(whole).logits[0, length - 1 : -1].log_softmax(-1)
        sequences.append(log_p.gather(-1, response[:, None]).sum())
    logp = torch.stack(sequences).view(prompts, members)
    proxy = 0.5 * (logp - reference)
    if score == "rloo":
        psi = proxy - (proxy.sum(1, keepdim=True) - proxy) / (members - 1)
    else:
        psi = (proxy - proxy.mean(1, keepdim=True)) / proxy.std(1, keepdim=True, correction=0)
    right = rewards.sum(1, keepdim=True)
    balanced = torch.where(rewards == 1, members / (2 * right), members / (2 * (members - right)))
    balanced = torch.where((right == 0) | (right == members), torch.ones_like(balanced), balanced)
    expected = torch.nn.functional.binary_cross_entropy_with_logits(psi, rewards, weight=balanced)
    gradients = torch.autograd.grad(expected, list(policy.model.parameters()))
    loss, nothing = spec.loss.model_copy(update={"kl_coefficient": 0.0}), torch.zeros(prompts, members)
    totals, moves = stepped(batch, nothing, loss=loss, limit=Microbatch(tokens=40), coupled=coupled)
    assert math.isclose(totals.losses[0], float(expected.detach()), rel_tol=1e-4)
    assert totals.figures()["psi_q50"] == pytest.approx(float(psi.detach().abs().quantile(0.5)), rel=1e-4)
    assert_gradients(moves, gradients)


def test_groups_of_zero_weight_are_left_out_without_effect(batch):
    policy, spec, made = batch
    loss = spec.loss.model_copy(update={"kl_coefficient": 0.0})
    advantages = torch.randn(made.rewards_PG.shape, generator=torch.Generator().manual_seed(3))
    advantages[1::2] = 0
    expected = plain_loss(policy, made.groups, advantages, made.samples.logprobs_PGT, made.samples.logprobs_PGT, loss)
    totals, _ = stepped(batch, advantages, loss=loss)
    assert math.isclose(totals.losses[0], float(expected.detach()), rel_tol=1e-4, abs_tol=1e-6)
    assert totals.tokens == int(made.groups.lengths_PG[::2].sum())


def test_clipped_tokens_are_counted_by_the_side_of_the_clip(batch):
    """Old probabilities twice as large clip negative weights below, half as large positive ones above."""
    _, spec, made = batch
    loss = spec.loss.model_copy(update={"kl_coefficient": 0.0})
    signs = torch.where(torch.arange(made.rewards_PG.numel()).view(made.rewards_PG.shape) % 3 == 0, 1.0, -1.0)
    old = made.samples.logprobs_PGT - math.log(2.0) * signs[..., None] * made.groups.mask_PGT()
    figures = stepped(batch, signs, old, loss=loss)[0].figures()
    positive = float(made.groups.lengths_PG[signs > 0].sum() / made.groups.lengths_PG.sum())
    assert figures["clip_fraction"] == 1.0 and 0 < positive < 1
    assert figures["clip_fraction_high"] == pytest.approx(positive)
    assert figures["clip_fraction_low"] == pytest.approx(1 - positive)


def test_no_step_is_taken_with_a_non_finite_loss(batch):
    policy, _, made = batch
    before = [p.detach().clone() for p in policy.model.parameters()]
    with pytest.raises(NonFinite):
        stepped(batch, torch.full(made.rewards_PG.shape, float("nan")))
    assert all(torch.equal(p, b) for p, b in zip(policy.model.parameters(), before, strict=True))


def test_chunks_cover_all_rollouts_once_shortest_first_and_equal_ones_together():
    tokens = torch.tensor([[[4, 5, 6], [4, 5, 6], [7, 0, 0]], [[4, 5, 6], [8, 9, 0], [8, 9, 0]]])
    lengths = torch.tensor([[3, 3, 1], [3, 2, 2]])
    groups = Groups(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), tokens, lengths)
    parts = list(chunks(groups, Microbatch(2)))
    assert [part.tokens_NT.tolist() for part in parts] == [[[7, 0], [8, 9]], [[4, 5, 6], [4, 5, 6]]]
    assert [part.members_M.tolist() for part in parts] == [[2, 4, 5], [0, 1, 3]]
    for part in parts:
        for member, row in zip(part.members_M.tolist(), part.rows_M.tolist(), strict=True):
            p, g = divmod(member, 3)
            n = int(lengths[p, g])
            assert part.lengths_N[row] == n and part.tokens_NT[row, :n].tolist() == tokens[p, g, :n].tolist()
            place = part.prompt_N[row]
            length = int(part.prompt_lengths_P[place])
            assert part.prompts_PL[place, :length].tolist() == groups.prompts_PL[p, :length].tolist()
    assert len(list(chunks(groups, Microbatch(1)))) == 4


def test_microbatches_by_tokens_stay_below_their_limit(batch):
    """Rows times the longest row, padding included; one row alone may be longer. Every row comes once."""
    generator = torch.Generator().manual_seed(1)
    for limit in (5, 40, 100):
        lengths = torch.randint(1, 30, (50,), generator=generator).tolist()
        ends = Microbatch(tokens=limit).ends(lengths)
        parts = [lengths[a:b] for a, b in itertools.pairwise([0, *ends])]
        assert list(itertools.chain(*parts)) == lengths and all(parts)
        assert all(len(part) * max(part) <= limit or len(part) == 1 for part in parts)
        grown = [[*part, after[0]] for part, after in itertools.pairwise(parts)]
        assert all(len(part) * max(part) > limit for part in grown)  # no microbatch is smaller than it must be
    assert Microbatch(sequences=3).ends([1] * 7) == [3, 6, 7] and Microbatch().ends([1] * 7) == [7]
    _, _, made = batch
    assert len(list(chunks(made.groups, Microbatch(tokens=1)))) == len(list(chunks(made.groups, Microbatch(1))))


@pytest.mark.parametrize("forward", [Decoder, TransformersPass])
def test_chunked_logprobs_are_whole_ones(batch, forward):
    policy, _, made = batch
    decoder, shape = forward(policy.model), made.groups.tokens_PGT.shape
    whole = torch.zeros(shape)
    for p in range(shape[0]):  # no two rollouts together
        for g in range(shape[1]):
            one = made.groups.select(torch.tensor([p]))
            one.tokens_PGT, one.lengths_PG = one.tokens_PGT[:, g : g + 1], one.lengths_PG[:, g : g + 1]
            (chunk,) = chunks(one, Microbatch(1))
            scored = token_logprobs(decoder, chunk)
            whole[p, g, : scored.shape[1]] = scored[0].detach()
    torch.testing.assert_close(all_logprobs(decoder, made.groups, Microbatch(4)), whole, rtol=1e-4, atol=1e-5)


def test_equal_rollouts_are_computed_once_and_count_each(batch):
    """A group whose rollouts are all one: the loss and gradient of the objective written out for each."""
    policy, spec, made = batch
    made.groups.tokens_PGT[:] = made.groups.tokens_PGT[:, :1]
    made.groups.lengths_PG[:] = made.groups.lengths_PG[:, :1]
    loss = spec.loss.model_copy(update={"kl_coefficient": 0.1, "aggregation": "sequence_mean"})
    advantages = torch.randn(made.rewards_PG.shape, generator=torch.Generator().manual_seed(5))
    old = all_logprobs(Decoder(policy.model), made.groups, Microbatch(8))
    assert sum(len(c.tokens_NT) for c in chunks(made.groups, Microbatch(4))) == len(made.groups.prompts_PL)
    expected = plain_loss(policy, made.groups, advantages, old, old, loss)
    gradients = torch.autograd.grad(expected, list(policy.model.parameters()))
    totals, moves = stepped(batch, advantages, old, old, loss=loss)
    assert math.isclose(totals.losses[0], float(expected.detach()), rel_tol=1e-4, abs_tol=1e-6)
    assert totals.tokens == int(made.groups.lengths_PG.sum())
    assert_gradients(moves, gradients)


def test_prompt_order_visits_each_problem_once_an_epoch():
    order = PromptOrder(7, seed=3)
    epochs = [[order.at(i) for i in range(start, start + 7)] for start in (0, 7)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(7)) and epochs[0] != epochs[1]
    assert [PromptOrder(7, seed=3).at(i) for i in range(7)] == epochs[0]
    assert [PromptOrder(7, seed=4).at(i) for i in range(7)] != epochs[0]


def test_overlong_penalty_is_dapos():
    """Limit 20480, buffer 4096: nothing up to 16384 tokens, -0.5 halfway, -1 at the limit (DAPO, Eq. 13)."""
    lengths = torch.tensor([[100, 16384, 18432, 20480, 30000]])
    penalty = overlong_penalty(lengths, limit=20480, buffer=0.2, penalty=1.0)
    torch.testing.assert_close(penalty, torch.tensor([[0.0, 0.0, -0.5, -1.0, -1.0]]))
    assert overlong_penalty(lengths, limit=20480, buffer=0.2, penalty=0.0).abs().sum() == 0


def test_measures_by_hand():
    correct = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    shift = torch.tensor([[3.0, 2.0, -1.0], [0.0, 4.0, 5.0]])
    lengths = torch.tensor([[10, 10, 10], [10, 20, 10]])
    found = measures.overconfidence(shift, lengths, correct)
    assert found["oef"] == 0.5
    assert found["overconfidence_sum"] == 3.0 and math.isclose(found["overconfidence_mean"], 0.2, rel_tol=1e-6)
    quantiles = {"shift_sum_q50": 1.0, "shift_sum_q90": 3.4, "shift_sum_q99": 3.94, "shift_mean_q50": 0.1}
    assert {key: found[key] for key in quantiles} == pytest.approx(quantiles), "of -1, 0, 2, 4; -0.1, 0, 0.2, 0.2"
    assert tuple(found) == measures.OVERCONFIDENCE and found["shift_mean_q99"] == pytest.approx(0.2)
    assert set(measures.overconfidence(shift, lengths, torch.ones(2, 3)).values()) == {None}
    assert measures.shares([0.0, 1.0, 0.5, 0.0]) == {"pass_rate": 0.375, "all_wrong": 0.5, "all_right": 0.25}
    drawn = measures.counts([0.0, 1.0, 1 / 3, 0.0], 3)
    assert drawn == {"correct": 4, "unsolved": 2, "solve_rates": [2, 1, 0, 1]}
    found = measures.by_level([0.5, 0.0, 1.0, 0.25, 1.0], ["5", "3", "5", "3", "5"])
    assert found["pass_rate_by_level"] == {"3": 0.125, "5": pytest.approx(5 / 6)}
    assert found["problems_by_level"] == {"3": 2, "5": 3}


def test_masses_by_solve_rate_by_hand_and_as_closed_forms():
    """Two groups with one of four correct, one with three, none with two; then GRPO's sqrt(pq)."""
    correct = torch.tensor([[1.0, 0, 0, 0], [0, 1.0, 0, 0], [1.0, 1, 1, 0], [0.0, 0, 0, 0], [1.0, 1, 1, 1]])
    weights = torch.tensor([[4.0, -1, -1, -2], [0, 2, 0, -2], [1.0, 2, 1, -8], [0.5, 0, 0, -0.5], [0, 0, 0, 0]])
    found = measures.masses_by_correct(weights, correct)
    assert found["positive_mass_by_correct"] == [0.125, 0.75, None, 1.0, 0.0]
    assert found["negative_mass_by_correct"] == [0.125, 0.75, None, 2.0, 0.0]
    grpo = Estimator("grpo", {"epsilon": 0.0})
    found = measures.masses_by_correct(grpo.advantages(correct, {}, {}), correct)
    closed = Estimator("grpo", {"epsilon": 0.0}).masses(torch.arange(5) / 4, 4)
    for name, expected in zip(("positive_mass_by_correct", "negative_mass_by_correct"), closed, strict=True):
        pairs = [(mass, p) for mass, p in zip(found[name], expected.tolist(), strict=True) if mass is not None]
        assert len(pairs) == 4 and all(math.isclose(mass, p, abs_tol=1e-6) for mass, p in pairs)


def test_shares_of_the_mass_by_kind_of_group_by_hand():
    correct = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    weights = torch.tensor([[0.5, -0.5], [1.0, -2.0], [0.0, 1.0], [2.0, -1.0]])
    shares = measures.mass_shares(weights, correct)
    assert shares == {"mass_all_wrong": 0.125, "mass_mixed": 0.75, "mass_all_right": 0.125}
    assert set(measures.mass_shares(torch.zeros(4, 2), correct).values()) == {None}


def test_decision_tokens_are_the_operators_before_the_box(policy):
    text = "8 * 8 = 16 - 6 = 10 \\boxed{ ( ( 8 * 8 ) - 6 ) }"
    tokens = torch.tensor(policy.tokenizer([[*text.split()]], is_split_into_words=True)["input_ids"])[:, None]
    mask = torch.ones_like(tokens, dtype=torch.bool)
    found = measures.decision_mask(operator_fill.TASK, policy.tokenizer, tokens, mask)
    assert found[0, 0].nonzero().squeeze(-1).tolist() == [1, 5]


def test_long_prompts_are_left_out_and_counted(policy):
    kept = Problems(policy, problems(), 6)
    assert kept.left_out == 2 and len(kept.prompts) == 4
    with pytest.raises(ValueError, match="at most 2 tokens"):
        Problems(policy, problems(), 2)


def test_dynamic_sampling_drops_groups_that_do_not_inform(plan, policy):
    """With a verifier that finds all rollouts of even problems right and half of the others'."""
    spec = next(iter(plan.runs.values()))
    calls = {"n": 0}

    class Alternating(Pool):
        def judge(self, questions):
            for _, gold in questions:
                calls["n"] += 1
                informs = gold.startswith(("1", "2", "3"))
                yield Verdict("correct" if not informs or calls["n"] % 2 else "wrong", None, 0.0)

    def made(dynamic, rounds=6):
        return collect(
            policy, sampler(policy.model), Problems(policy, problems(), 16), PromptOrder(6, seed=2),
            Alternating("operators"), seed=2, step=1, position=0, prompts=5,
            rollout=spec.rollout.model_copy(
                update={"dynamic_sampling": dynamic, "max_sampling_rounds": rounds, "max_response_tokens": 4}
            ),
            reward=spec.reward,
        )  # fmt: skip

    batch = made(True)
    rates = batch.correct_PG.mean(1)
    assert len(rates) == 5 and ((rates > 0) & (rates < 1)).all()
    assert batch.rounds > 1 and len(batch.drawn_pass_rates) > 5 and batch.position == len(batch.drawn_pass_rates)
    assert made(False).rounds == 1
    short = made(True, rounds=1)
    assert len(short.correct_PG) == 5, "what is missing is filled with groups that weigh nothing"


def test_padding_is_on_the_right():
    prompts, lengths = pad_prompts([[5, 6], [7]], 0, "cpu")
    assert prompts.tolist() == [[5, 6], [7, 0]] and lengths.tolist() == [2, 1]
    groups = Groups(prompts, lengths, torch.tensor([[[1, 2, 3]], [[4, 5, 6]]]), torch.tensor([[3], [1]]))
    assert groups.select(torch.tensor([1])).tokens_PGT.tolist() == [[[4]]]


def test_false_working_by_hand():
    """4 + 3 = 7, then 7 * 2 = 14: of four responses three are correct, one of them by a false step; the fourth is not
    counted, though its working is false.
    """
    policy, prompt = scratch_policy(read_sources(ROOT, "laptop", ["ace"]).models["qwen2-chain"]), "4 3 2 = 14"
    responses = [
        "4 3 2 14 + 7 * 14 \\boxed{ + * }",
        "4 3 2 14 + 9 * 14 \\boxed{ + * }",
        "4 3 2 14 + 7 * 14 \\boxed{ + * } <eos>",
        "4 3 2 14 * 9 * 14 \\boxed{ * * }",
    ]
    tokenizer = policy.tokenizer
    prompts = policy.encode([prompt])
    rows = tokenizer(responses, add_special_tokens=False)["input_ids"]
    lengths_PG = torch.tensor([[len(row) for row in rows]])
    tokens_PGT = torch.full((1, 4, 20), policy.pad)
    for g, row in enumerate(rows):
        tokens_PGT[0, g, : len(row)] = torch.tensor(row)
    groups = Groups(*pad_prompts([*prompts, prompts[0][:2]], policy.pad, "cpu"), tokens_PGT, lengths_PG)
    correct = torch.tensor([[1.0, 1.0, 1.0, 0.0]])
    found = measures.false_working(operator_chain.TASK, tokenizer, groups.prompts(), tokens_PGT, lengths_PG, correct)
    assert found == {"false_working": 1 / 3}
    none = measures.false_working(operator_chain.TASK, tokenizer, groups.prompts(), tokens_PGT, lengths_PG, correct * 0)
    assert none == {"false_working": None}


def test_terms_of_the_change_of_entropy_by_hand():
    """Two prompts with two responses: (m_S - m_F) H and Cov(A, log pi) of each, and their means."""
    advantages = torch.tensor([[1.0, -0.5], [2.0, 2.0]])
    logp = torch.tensor([[-2.0, -4.0], [-1.0, -3.0]])
    found = measures.entropy_change(advantages, logp)
    assert found["sequence_entropy"] == 2.5
    assert found["entropy_drift"] == pytest.approx((0.25 * 3 + 2 * 2) / 2)
    assert found["entropy_covariance"] == pytest.approx((0.75 * 1 + 0) / 2)
