"""A-GRAE's statements."""

import torch
from torch import Tensor
from torch.func import grad

from rlvr.theory._groups import by_successes, mixed_groups, outcomes, weigh
from rlvr.theory._policy import LOGITS
from rlvr.theory._tensors import float64, gap
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

chapter = Chapter("A-GRAE", place=4)


@chapter.says("Sec. 3, Eq. 4", "autograd of Eq. 1 without KL, 5 tokens; the ratio inside and outside of the clip range")
def weighted_fine_tuning() -> Finding:
    """GRPO's gradient is that of supervised fine-tuning with the weight rho A on each token."""

    def difference(shift: float, a: float = 1.3) -> float:
        old = (LOGITS - shift * torch.eye(5)[0].double()).log_softmax(0)[0]

        def ratio(theta: Tensor) -> Tensor:
            return (theta.log_softmax(0)[0] - old).exp()

        gradient = grad(lambda theta: torch.minimum(ratio(theta) * a, ratio(theta).clamp(0.8, 1.2) * a))(LOGITS)
        return gap(gradient, grad(lambda theta: float(ratio(LOGITS)) * a * theta.log_softmax(0)[0])(LOGITS))

    return holds(
        difference(0.1),
        1e-12,
        f"without clip and KL, as B.1 says; a clipped token has no gradient (difference {difference(0.6):.1f})",
    )


@chapter.says("Sec. 3, Eq. 5", "all 2^8 groups")
def group_symmetry() -> Finding:
    """The absolute advantages of correct and of wrong responses have equal sums."""
    rewards = outcomes(8)
    size = weigh("grpo", rewards).abs()
    return holds(gap((size * rewards).sum(1), (size * (1 - rewards)).sum(1)), 1e-12)


def _logit_update(sample: list[int], advantages: Tensor, logits: Tensor = LOGITS) -> Tensor:
    return grad(lambda theta: (advantages * theta.log_softmax(0)[sample]).sum())(logits)


def _log_pi_change(sample: list[int], advantages: Tensor, logits: Tensor = LOGITS) -> Tensor:
    """Change of log pi per unit step."""
    update = _logit_update(sample, advantages, logits)
    return update - logits.softmax(0) @ update


@chapter.says("Theorem 1, Eq. 6", "autograd on 5 responses; a sample of distinct responses, and one drawn three times")
def logit_update() -> Finding:
    """A response's logit moves by its advantage if it was sampled, less C pi, C the sum of advantages."""
    pi = LOGITS.softmax(0)

    def difference(sample: list[int], a: Tensor) -> float:
        stated = -a.sum() * pi
        for response, advantage in zip(sample, a, strict=True):  # each sampled response once, as Eq. 6 reads
            stated[response] = advantage - a.sum() * pi[response]
        return gap(_logit_update(sample, a), stated)

    repeated = weigh("grpo", float64([[1.0, 1.0, 1.0, 0.0]]))[0]
    return conditional(
        difference([0, 2, 3], float64([1.2, -0.5, -0.9])),
        difference([0, 0, 0, 2], repeated),
        "the responses of the group are distinct; one drawn three times moves by 3 A",
    )


@chapter.says(
    "Sec. 3, case C", "autograd on 5 responses, all binary groups of three samples, distinct or repeated; C = -0.6"
)
def unsampled_logits() -> Finding:
    """Under GRPO (C = 0) the logit of a response that was not sampled does not move."""

    def largest(sample: list[int], advantages: Tensor) -> float:
        unsampled = [response for response in range(5) if response not in sample]
        return float(_logit_update(sample, advantages)[unsampled].abs().max())

    groups = weigh("grpo", outcomes(3))
    zero = max(largest(sample, a) for sample in ([0, 2, 3], [0, 0, 2], [1, 1, 1]) for a in groups)
    other = largest([0, 2, 3], float64([0.8, -0.7, -0.7]))
    return holds(zero, 1e-12, f"in a table of logits, one per response; with C = -0.6 they move by up to {other:.3f}")


@chapter.says("Appendix B.5, case C", "change of log pi along Eq. 6, 5 responses")
def unsampled_probabilities() -> Finding:
    """Under GRPO the probabilities of unsampled responses remain constant."""
    change = _log_pi_change([0, 2, 3], float64([1.4, -0.7, -0.7]))
    return fails(
        float(change[[1, 4]].abs().max()),
        f"logits {[round(float(x), 1) for x in LOGITS]}, sampled 0, 2, 3 with advantages 1.4, -0.7, -0.7: log pi of "
        f"both unsampled responses changes by {float(change[1]):+.3f} per unit step, through the softmax's normaliser",
        "for logits, and for the ratio of two unsampled probabilities",
    )


@chapter.says("Sec. 3, case A", "all binary groups of 4 distinct")
def sampled_positives() -> Finding:
    """A sampled correct response gains logit, and strictly gains probability."""
    least = torch.inf
    for rewards in outcomes(4)[1:-1]:
        update = _logit_update([0, 1, 2, 3], weigh("grpo", rewards[None])[0])
        moved = (LOGITS + 0.01 * update).log_softmax(0) - LOGITS.log_softmax(0)
        least = min(least, float(moved[:4][rewards == 1].min()))
    sample = [0, 0, 0, 0, 0, 0, 1, 2]  # responses 0 and 1 are correct, 2 is wrong
    rewards = float64([[1.0] * 7 + [0.0]])
    logits = float64([0.7, 0.1, 0.1, 0.1]).log()
    change = float(_log_pi_change(sample, weigh("grpo", rewards)[0], logits)[1])
    return conditional(
        max(0.0, -least),
        -change,
        "the responses are distinct. With pi = (0.7, 0.1, 0.1, 0.1) and the first drawn six times, log pi of the "
        f"second correct one changes by {change:.2f} per unit step",
    )


@chapter.says(
    "Appendix B.5, case B", "Eq. 35 on a grid of pi, G = 8, beta = 10; the threshold 1 / (G q (1 - 1/beta)) is ours"
)
def overconfident_negatives() -> Finding:
    """With negative-dominant groups the logit of a wrong response rises if the policy is confident enough of it."""
    worst, beta, rollouts = 0.0, 10.0, 8
    for successes in range(1, rollouts):
        rewards = by_successes(rollouts)[successes][None]
        a = weigh("negative_dominant", rewards, beta=beta)[0]
        c, q = float(a.sum()), 1 - successes / rollouts
        threshold = 1 / (rollouts * q * (1 - 1 / beta))
        pi = torch.linspace(0.001, 0.999, 999, dtype=torch.float64)
        rises = float(a[-1]) - c * pi > 0
        worst = max(worst, float((rises != (pi > threshold)).double().sum()))
    return holds(worst, 0.0, "at p = 1/8 every wrong response above 16 % of the probability gains")


@chapter.says("Theorem 2, Eq. 10", "p = k/16, all k")
def update_magnitude() -> Finding:
    """The absolute advantages of a group sum to 2 G sqrt(p (1 - p))."""
    rewards = by_successes(16)
    p = rewards.mean(1)
    stated = 2 * 16 * (p * (1 - p)).sqrt()
    biased, unbiased = (weigh("grpo", rewards, std=std).abs().sum(1) for std in ("biased", "unbiased"))
    detail = (
        f"std over G, as in B.2; with verl's, over G - 1, the sum is up to {gap(unbiased, stated):.2f} less at G = 16"
    )
    return holds(gap(biased, stated), 1e-10, detail)


@chapter.says("Table 1a", "all 2^8 groups")
def group_controls() -> Finding:
    """The advantages sum to 0 (GRPO), above 0 (positive-dominant), below 0 (negative-dominant)."""
    rewards = outcomes(8)[1:-1]
    names = ("grpo", "positive_dominant", "negative_dominant")
    grpo, positive, negative = (weigh(name, rewards).sum(1) for name in names)
    wrong = float((-positive).clamp(min=0).max()) + float(negative.clamp(min=0).max())
    return holds(
        float(grpo.abs().max()) + wrong, 1e-12, "the table's caption writes alpha = 10 where the text has beta"
    )


@chapter.says("Table 1b", "p = k/16")
def sample_controls() -> Finding:
    """The absolute advantages sum to G sqrt(1 - p) (hard-focused) and G sqrt(p) (easy-focused)."""
    rewards, p = mixed_groups(16)
    hard, easy = (weigh(name, rewards).abs().sum(1) for name in ("hard_focused", "easy_focused"))
    return holds(max(gap(hard, 16 * (1 - p).sqrt()), gap(easy, 16 * p.sqrt())), 1e-10)


@chapter.says("Sec. 4.1", "the largest sum of |A| over p = k/G against GRPO's: G = 5, 8, and one success of 10^6")
def gamma_normalisation() -> Finding:
    """gamma = 0.5 keeps the largest update magnitude of the sample-level controls at GRPO's."""

    def short(rollouts: int) -> float:
        """Of the hard-focused weights at one success, where they are largest; GRPO has G at p = 1/2."""
        reward = torch.zeros(1, rollouts, dtype=torch.float64)
        reward[0, 0] = 1.0
        return float(1 - weigh("hard_focused", reward).abs().sum() / rollouts)

    for rollouts in (5, 8):
        rewards, _ = mixed_groups(rollouts)
        hard, easy = (weigh(name, rewards).abs().sum(1) for name in ("hard_focused", "easy_focused"))
        assert abs(1 - float(hard.max()) / rollouts - short(rollouts)) < 1e-12 and gap(hard, easy.flip(0)) < 1e-12
    return conditional(
        short(10**6),
        short(8),
        f"as a supremum, for large G: GRPO's sum is at most G, the controls' G sqrt(1 - 1/G), {100 * short(8):.1f} % "
        f"less at the paper's G = 8 and {100 * short(5):.1f} % less at its G = 5",
        1e-6,
    )


@chapter.says(
    "Sec. 5.1, Eq. 12", "the factor on a grid of omega from 0.05 to 0.95, p = k/16: rising below 1/2, falling above"
)
def attention_shift() -> Finding:
    """A larger omega moves weight from easy to hard prompts."""
    rewards, p = mixed_groups(16)
    states = [{"omega": step / 20} for step in range(1, 20)]
    sums = torch.stack([weigh("a_grae", rewards, state=state, levels="sample").abs().sum(1) for state in states])
    wrong = (sums.diff(dim=0) * torch.sign(0.5 - p)).clamp(max=0).abs()
    return holds(float(wrong.max()), 1e-12)


@chapter.says(
    "Sec. 4.4",
    "all 2^8 groups: sums of |A| of Dr.GRPO and GRPO's advantage (DAPO), and at p and 1 - p; the weight of tokens "
    "where correct responses have 500 tokens and wrong ones 800",
)
def symmetry_of_variants() -> Finding:
    """The advantage symmetry still holds under Dr.GRPO and DAPO."""
    rewards = outcomes(8)
    lengths = torch.where(rewards == 1, 500.0, 800.0).double()
    mixed = (rewards.mean(1) > 0) & (rewards.mean(1) < 1)

    def sides(name: str, per_rollout: Tensor) -> Tensor:
        size = weigh(name, rewards).abs() * per_rollout
        return torch.stack([(size * rewards).sum(1), (size * (1 - rewards)).sum(1)])

    worst, tokens = 0.0, []
    for name in ("dr_grpo", "grpo"):
        by_rollout, by_token = sides(name, torch.ones_like(rewards)), sides(name, lengths)
        both = by_rollout.sum(0)
        worst = max(worst, gap(*by_rollout), gap(both, both.flip(0)))  # flip: the group with each reward inverted
        tokens.append(gap((by_token[0] / by_token[1])[mixed], torch.ones(int(mixed.sum())).double()))
    p = rewards.mean(1)
    assert gap(sides("dr_grpo", torch.ones_like(rewards)).sum(0), 16 * p * (1 - p)) < 1e-12
    return conditional(
        worst,
        max(tokens),
        "one weight per response, as in Eq. 4. Both losses sum over tokens without 1 / |o_i|, so that a response has "
        "the weight A |o_i|: where wrong responses are longer (800 tokens to 500) the correct ones have "
        f"{100 * max(tokens):.1f} % less weight. The sum of |A| is 2 G p (1 - p) in Dr.GRPO, not Eq. 10's, largest at "
        "p = 1/2 too",
        1e-12,
    )


def _negative_dominant_change() -> Tensor:
    """Change of log pi per unit step; response 0 is correct, 2 and 3 are wrong, 1 and 4 unsampled, beta = 10."""
    weights = weigh("negative_dominant", float64([[1.0, 0.0, 0.0]]))[0]
    return _log_pi_change([0, 2, 3], weights, logits=float64([-0.5, -1.1, 2.2, -0.3, -1.2]))


@chapter.says("Appendix B.5, case A", "change of log pi along Eq. 34, 5 responses, beta = 10")
def negative_dominant_positives() -> Finding:
    """With negative-dominant groups the probability of a sampled correct response strictly increases."""
    change = float(_negative_dominant_change()[0])
    return fails(
        min(0.0, change),
        "logits (-0.5, -1.1, 2.2, -0.3, -1.2), sampled 0 (correct), 2 and 3: log pi of the correct one changes by "
        f"{change:+.3f} per unit step, since the overconfident response 2 takes more",
        "for its logit, which does increase",
    )


@chapter.says("Appendix B.5, case C", "the same step")
def negative_dominant_unsampled() -> Finding:
    """With negative-dominant groups the probabilities of all unsampled responses increase."""
    change = _negative_dominant_change()[[1, 4]]
    return fails(
        min(0.0, float(change.max())),
        f"the same logits and sample: log pi of the two changes by {float(change[0]):+.3f} and {float(change[1]):+.3f}",
        "for their logits; for probabilities, where no sampled response is overconfident",
    )
