"""Weights from verl's rows (padding among them, groups apart, shuffled) are those of the functions in process."""

import pytest
import torch
from support.members import MEMBERS

from rlvr.estimators import Estimator, inputs_of_step, names
from rlvr.training.backends.verl.adapter import (
    EstimatorInputs,
    Grid,
    Ragged,
    by_rewards_alone,
    on_tokens,
    registered,
    whole_groups,
)

P, G, T, PADDING = 7, 8, 12, 5
ORDER = {"mc_grpo"}  # equal rewards are told apart by their place in the group


class Rows:
    """The same rollouts as a grid, as the trainer in process has them, and as verl's rows."""

    def __init__(self, seed: int):
        generator = torch.Generator().manual_seed(seed)
        self.rewards_PG = (torch.rand(P, G, generator=generator) < torch.linspace(0, 1, P)[:, None]).float()
        self.rewards_PG[0] = torch.eye(G)[3]  # one success alone
        self.lengths_PG = torch.randint(2, T + 1, (P, G), generator=generator)
        mask_PGT = (torch.arange(T) < self.lengths_PG[..., None]).float()
        self.old_PGT = -torch.rand(P, G, T, generator=generator) * mask_PGT
        self.reference_PGT = (self.old_PGT + 0.1 * torch.randn(P, G, T, generator=generator)) * mask_PGT
        last = torch.nn.functional.one_hot(self.lengths_PG - 1, T)
        shuffled = torch.randperm(P * G + PADDING, generator=generator)

        def rows(values_PGT: torch.Tensor, padding: float = 0.0) -> torch.Tensor:
            more = torch.full((PADDING, T), padding)
            return torch.cat([values_PGT.flatten(0, 1).float(), more])[shuffled]

        self.where_N = shuffled
        self.mask_NT = rows(mask_PGT)
        self.scores_NT = rows(self.rewards_PG[..., None] * last)
        self.old_NT, self.reference_NT = rows(self.old_PGT, -3.0), rows(self.reference_PGT, -9.0)
        uids = [f"uid{p}" for p in range(P) for _ in range(G)] + [f"pad{i}" for i in range(PADDING)]
        sessions = list(range(G)) * P + [0] * PADDING
        self.uids, self.sessions = [uids[i] for i in shuffled], [sessions[i] for i in shuffled]

    def expected(self, weights_PG: torch.Tensor) -> torch.Tensor:
        return torch.cat([weights_PG.flatten(), torch.zeros(PADDING)])[self.where_N]


@pytest.mark.parametrize(("name", "settings"), MEMBERS, ids=str)
def test_every_methods_weights(name, settings):
    rows, estimator = Rows(3), Estimator(name, settings)
    given = inputs_of_step(rows.old_PGT, rows.reference_PGT, rows.lengths_PG)
    state: dict = {}
    for _ in range(3):  # the state of a controller moves on alike
        weights_PG, state = estimator.step(rows.rewards_PG, given, state)
    assert weights_PG.abs().max() > 0

    grid = Grid.of(rows.uids, rows.mask_NT.bool().any(-1), rows.sessions)
    step = EstimatorInputs.of(grid, rows.mask_NT, rows.scores_NT, rows.old_NT, rows.reference_NT)
    theirs: dict = {}
    for _ in range(3):
        found_PG, theirs = estimator.step(step.rewards_PG, step.values, theirs)
    torch.testing.assert_close(grid.spread(found_PG), rows.expected(weights_PG), rtol=1e-6, atol=1e-6)
    assert theirs == pytest.approx(state, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in names() if by_rewards_alone(Estimator(name))])
def test_solve_rate_weights_through_verls_registry(name):
    rows, estimator = Rows(4), Estimator(name)
    on_NT, returns_NT = registered(estimator)(
        token_level_rewards=rows.scores_NT, response_mask=rows.mask_NT, index=rows.uids, config=None
    )
    assert torch.equal(on_NT, returns_NT)
    found_N = on_NT.sum(-1) / rows.mask_NT.sum(-1).clamp(min=1)
    assert bool((on_NT[rows.mask_NT == 0] == 0).all())
    expected_PG = estimator.advantages(rows.rewards_PG, {}, {})
    if name in ORDER:
        found_PG = Grid.of(rows.uids, rows.mask_NT.bool().any(-1), rows.sessions).take(found_N)
        torch.testing.assert_close(
            found_PG.sort(-1).values.sum(0), expected_PG.sort(-1).values.sum(0), rtol=0, atol=1e-5
        )
        return
    torch.testing.assert_close(found_N, rows.expected(expected_PG), rtol=1e-6, atol=1e-6)


def test_coupled_weights_of_a_minibatch_at_the_policy_as_it_is():
    rows, estimator = Rows(5), Estimator("pacs")
    grid = Grid.of(rows.uids, rows.mask_NT.bool().any(-1), rows.sessions)
    step = EstimatorInputs.of(grid, rows.mask_NT, rows.scores_NT, rows.old_NT, rows.reference_NT)
    chosen = torch.tensor([1, 4])
    now_PG = step.values["logp_old_PG"][chosen] + 0.3
    rewards_PG, given = step.prompts(chosen, now_PG)
    assert torch.equal(given["logp_PG"], now_PG) and torch.equal(
        given["logp_ref_PG"], step.values["logp_ref_PG"][chosen]
    )
    shifted = estimator.advantages(rewards_PG, given, {})
    whole = estimator.advantages(step.rewards_PG, {**step.values, "logp_PG": step.values["logp_old_PG"] + 0.3}, {})
    torch.testing.assert_close(shifted, whole[chosen])


def test_a_weight_stands_on_response_tokens_alone():
    rows = Rows(6)
    on_NT = on_tokens(torch.arange(P * G + PADDING).float(), rows.mask_NT)
    assert torch.equal(on_NT != 0, (rows.mask_NT != 0) & (torch.arange(P * G + PADDING)[:, None] > 0))


def test_groups_of_different_sizes_are_named():
    rows = Rows(7)
    real = rows.mask_NT.bool().any(-1)
    real[int(real.nonzero()[0])] = False
    with pytest.raises(Ragged, match=r"prompts have \[7, 8\] rollouts"):
        Grid.of(rows.uids, real, rows.sessions)


def test_a_failed_rollout_costs_its_group():
    """A rollout that raised has no row; one without a token counts as failed; the others keep their order."""
    keys = [f"{prompt}_{rollout}_0" for rollout in range(3) for prompt in ("a-1", "b-2", "c-3", "d-4")]
    assert whole_groups(keys, [5] * 12, 3) == (4, keys)
    lengths = {key: 5 for key in keys if key != "b-2_1_0"} | {"d-4_2_0": 0}
    present = [key for key in keys if key in lengths]
    whole, kept = whole_groups(present, [lengths[key] for key in present], 3)
    assert whole == 2 and kept == [key for key in keys if key.startswith(("a", "c"))]
    assert whole_groups([], [], 3) == (0, [])
