"""One step's rollouts: draw prompts, sample, verify, and (DAPO) draw again until every group has a signal.

Dimensions: P prompts, G rollouts per prompt, T response tokens.
"""

import math
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from rlvr import verifiers
from rlvr.config.schema.settings import Reward, Rollout
from rlvr.policies.noise import STREAM_FLIP, STREAM_ROLLOUT, noise_of
from rlvr.policies.sampler import Samples
from rlvr.policies.store import Policy
from rlvr.records import Problem
from rlvr.training.batches import Groups, PromptOrder, pad_prompts
from rlvr.training.forward import Sampler
from rlvr.verifiers import Judgement
from rlvr.verifiers._form import well_formed
from rlvr.verifiers.pool import Pool


@dataclass
class Batch:
    """The rollouts that a step learns from, and counts over all rollouts drawn for it."""

    groups: Groups
    samples: Samples
    correct_PG: Tensor  # 1.0 for a correct rollout, else 0.0
    rewards_PG: Tensor  # the estimator's input: `rewards_of`
    formed_PG: Tensor | None  # 1.0 for a rollout in the form that is asked for, else 0.0; None if no reward is for it
    drawn_pass_rates: list[float]  # of every prompt drawn, before dynamic sampling drops any
    statuses: dict[str, int]
    rounds: int
    position: int  # position in the training set's order after this step
    problems: list[Problem]  # of each prompt
    verdicts: list[list[Judgement]]  # of each prompt's rollouts
    verify_seconds: float  # on the clock


class Problems:
    """A training set as token lists, without prompts over the limit (`left_out` counts them)."""

    def __init__(self, policy: Policy, problems: list[Problem], max_prompt_tokens: int):
        encoded = policy.encode([p.prompt for p in problems], [p.images for p in problems])
        pairs = [(p, e) for p, e in zip(problems, encoded, strict=True) if len(e) <= max_prompt_tokens]
        if not pairs:
            raise ValueError(f"no problem has a prompt of at most {max_prompt_tokens} tokens")
        self.problems = [p for p, _ in pairs]
        self.prompts = [e for _, e in pairs]
        self.left_out = len(problems) - len(pairs)


def sample_prompts(
    policy: Policy,
    sampler: Sampler,
    prompts: list[list[int]],
    keys: list[tuple[int, ...]],
    *,
    rollouts: int,
    max_tokens: int,
    first: int = 0,
    temperature: float = 1.0,
    top_p: float = 1.0,
) -> tuple[Groups, Samples]:
    where = policy.model.device
    prompts_PL, prompt_lengths_P = pad_prompts(prompts, policy.pad, where)
    drawn = sampler(
        prompts_PL,
        prompt_lengths_P,
        torch.from_numpy(noise_of(keys, first, rollouts, max_tokens)).to(where),
        eos_token=policy.eos,
        pad_token=policy.pad,
        temperature=temperature,
        top_p=top_p,
    )
    return Groups(prompts_PL, prompt_lengths_P, drawn.tokens_PGT, drawn.lengths_PG), drawn


def texts_of(policy: Policy, drawn: Samples) -> list[str]:
    """The text of each of P x G rollouts."""
    lengths = drawn.lengths_PG.flatten().tolist()
    rows = [row[:length] for row, length in zip(drawn.tokens_PGT.flatten(0, 1).cpu().numpy(), lengths, strict=True)]
    return policy.decode(rows)


def verify(policy: Policy, drawn: Samples, golds: list[str], verifier: Pool) -> list[list[Judgement]]:
    """Status and extracted answer of each of P x G rollouts. Raises TooManyErrors if the verifier fails too often."""
    prompts, rollouts = drawn.lengths_PG.shape
    texts, finished = texts_of(policy, drawn), drawn.finished_PG.flatten().tolist()
    verdicts = verifier.judge((text, golds[i // rollouts]) for i, text in enumerate(texts))
    settled = [
        verifiers.settle((verdict.status, verdict.extracted), done)
        for verdict, done in zip(verdicts, finished, strict=True)
    ]
    verifier.errors.check()
    return [settled[p * rollouts : (p + 1) * rollouts] for p in range(prompts)]


def correct(verdicts: list[list[Judgement]], device: torch.device) -> Tensor:
    """1.0 for a correct rollout, else 0.0 (P, G)."""
    return torch.tensor([[float(status == "correct") for status, _ in row] for row in verdicts], device=device)


def overlong_penalty(lengths_PG: Tensor, *, limit: int, buffer: float, penalty: float) -> Tensor:
    """Soft overlong punishment (DAPO: Yu et al. 2025, Eq. 13), scaled by `penalty`; zero or negative.

    Zero up to limit - buffer tokens, then linear down to -penalty at the limit. `buffer` is a share of `limit`.
    """
    if penalty == 0 or buffer == 0:
        return torch.zeros_like(lengths_PG, dtype=torch.float32)
    tokens = buffer * limit
    return penalty * ((limit - tokens - lengths_PG) / tokens).clamp(min=-1.0, max=0.0)


def collect(
    policy: Policy,
    sampler: Sampler,
    problems: Problems,
    order: PromptOrder,
    verifier: Pool,
    *,
    seed: int,
    step: int,
    position: int,
    prompts: int,
    rollout: Rollout,
    reward: Reward,
) -> Batch:
    """Rollouts of `prompts` prompts, from `position` in the order on.

    Dynamic sampling drops groups whose rollouts are all right or all wrong. It draws further prompts, about as many as
    the informative share suggests, for at most `max_sampling_rounds` rounds. Dropped groups, whose weights are mostly
    zero, then fill the remaining places. The verdicts that `reward.flipped` turns round are turned after this choice.
    """
    drawn: list[tuple[Groups, Samples]] = []  # of each round
    asked: list[Problem] = []
    verdicts: list[list[Judgement]] = []
    informs: list[bool] = []
    pass_rates: list[float] = []
    rounds, missing, seconds = 0, prompts, 0.0
    while missing > 0 and rounds < (rollout.max_sampling_rounds if rollout.dynamic_sampling else 1):
        share = max(0.25, (prompts - missing) / len(pass_rates)) if pass_rates else 1.0
        count = math.ceil(missing / share)
        rows = [order.at(position + i) for i in range(count)]
        drawn += [
            sample_prompts(
                policy,
                sampler,
                [problems.prompts[row] for row in rows],
                [(seed, STREAM_ROLLOUT, position + i) for i in range(count)],
                rollouts=rollout.samples_per_prompt,
                max_tokens=rollout.max_response_tokens,
                temperature=rollout.temperature,
            )
        ]
        asked += [problems.problems[row] for row in rows]
        began = time.perf_counter()
        verdicts += verify(policy, drawn[-1][1], [problem.gold for problem in asked[-count:]], verifier)
        seconds += time.perf_counter() - began
        rates = correct(verdicts[-count:], policy.model.device).mean(dim=1).tolist()
        informs += [0 < rate < 1 or not rollout.dynamic_sampling for rate in rates]
        missing = prompts - sum(informs)
        pass_rates += rates
        position, rounds = position + count, rounds + 1
    chosen = sorted(range(len(informs)), key=lambda place: not informs[place])[:prompts]
    groups, samples = _joined(drawn, chosen, policy.pad)
    of_rollouts = [verdicts[place] for place in chosen]
    correct_PG = correct(of_rollouts, policy.model.device)
    formed_PG = None
    if reward.format_share:
        formed = [float(well_formed(text)) for text in texts_of(policy, samples)]
        formed_PG = torch.tensor(formed, device=correct_PG.device).view_as(correct_PG)
    keys = [flip_key(seed, step, asked[place].id) for place in chosen]
    rewarded_PG = flipped(correct_PG, reward.flipped, keys)
    return Batch(
        groups,
        samples,
        correct_PG,
        rewards_of(rewarded_PG, formed_PG, groups.lengths_PG, reward, rollout.max_response_tokens),
        formed_PG,
        pass_rates,
        dict(Counter(status for row in verdicts for status, _ in row)),
        rounds,
        position,
        [asked[place] for place in chosen],
        of_rollouts,
        seconds,
    )


def _joined(drawn: list[tuple[Groups, Samples]], chosen: list[int], pad: int) -> tuple[Groups, Samples]:
    """The chosen ones of all rounds' prompts, padded to one shape."""

    def joined(name: str, parts: Sequence[Groups | Samples]) -> Tensor:
        tensors, filling = [getattr(part, name) for part in parts], {"prompts_PL": pad, "tokens_PGT": pad}.get(name, 0)
        if tensors[0].ndim > 1:
            longest = max(tensor.shape[-1] for tensor in tensors)
            tensors = [functional.pad(t, (0, longest - t.shape[-1]), value=filling) for t in tensors]
        return torch.cat(tensors)[chosen]

    groups, samples = zip(*drawn, strict=True)
    of_groups = {name: joined(name, groups) for name in vars(groups[0])}
    return Groups(**of_groups), Samples(**{name: joined(name, samples) for name in vars(samples[0])})


def flip_key(seed: int, step: int, problem: str) -> tuple[int, ...]:
    """The key of the random numbers that turn a group's verdicts round."""
    return seed, STREAM_FLIP, step, zlib.crc32(problem.encode())


def flipped(correct_PG: Tensor, share: float, keys: list[tuple[int, ...]], first: int = 0) -> Tensor:
    """The verdicts with a share of them turned round, each by itself: equal responses of a group may differ.

    A key per prompt, and `first` the place in the group of the first rollout that is given.
    """
    if share == 0:
        return correct_PG
    noise_PG = torch.from_numpy(noise_of(keys, first, correct_PG.shape[1], 1)[..., 0]).to(correct_PG.device)
    return torch.where(noise_PG < share, 1 - correct_PG, correct_PG)


def rewards_of(correct_PG: Tensor, formed_PG: Tensor | None, lengths_PG: Tensor, reward: Reward, limit: int) -> Tensor:
    """(1 - w) correct + w formed, with w the `format_share`, plus the overlong penalty, zero or negative."""
    penalty, buffer = reward.overlong_penalty, reward.overlong_buffer
    penalty_PG = overlong_penalty(lengths_PG, limit=limit, buffer=buffer, penalty=penalty)
    if formed_PG is None:
        return correct_PG + penalty_PG
    return (1 - reward.format_share) * correct_PG + reward.format_share * formed_PG + penalty_PG
