"""A-GRAE's statements."""

import torch

from rlvr.estimators import Estimator
from rlvr.theory._policy import LOGITS, by_successes, gap, outcomes
from rlvr.theory.statement import Chapter, Finding, conditional, fails, holds

chapter = Chapter("A-GRAE", place=4)
EXACT = {"epsilon": 0.0}


def _grpo(rewards: torch.Tensor, **settings) -> torch.Tensor:
    return Estimator("grpo", {**EXACT, **settings}).advantages(rewards, {}, {})


@chapter.says(
    "Sec. 3, Eq. 4",
    "GRPO's gradient is that of supervised fine-tuning with the weight rho A on each token.",
    "autograd of Eq. 1 without KL, 5 tokens; the ratio inside and outside of the clip range",
)
def weighted_fine_tuning() -> Finding:
    def difference(shift: float) -> float:
        theta = LOGITS.clone().requires_grad_()
        log_pi, old = theta.log_softmax(0), (LOGITS - shift * torch.eye(5)[0].double()).log_softmax(0)
        ratio = (log_pi[0] - old[0]).exp()
        a = 1.3
        value = torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a)
        found = torch.autograd.grad(value, theta)[0]
        theta = LOGITS.clone().requires_grad_()
        stated = torch.autograd.grad(float(ratio.detach()) * a * theta.log_softmax(0)[0], theta)[0]
        return gap(found, stated)

    return holds(
        difference(0.1),
        1e-12,
        f"without clip and KL, as B.1 says; a clipped token has no gradient (difference {difference(0.6):.1f})",
    )


@chapter.says(
    "Sec. 3, Eq. 5", "The absolute advantages of correct and of wrong responses have equal sums.", "all 2^8 groups"
)
def group_symmetry() -> Finding:
    rewards = outcomes(8)
    size = _grpo(rewards).abs()
    return holds(gap((size * rewards).sum(1), (size * (1 - rewards)).sum(1)), 1e-12)


def _logit_update(sample: list[int], advantages: torch.Tensor) -> torch.Tensor:
    theta = LOGITS.clone().requires_grad_()
    return torch.autograd.grad((advantages * theta.log_softmax(0)[torch.tensor(sample)]).sum(), theta)[0]


@chapter.says(
    "Theorem 1, Eq. 6",
    "A response's logit moves by its advantage if it was sampled, less C pi, C the sum of advantages.",
    "autograd on 5 responses; a sample of distinct responses, and one drawn three times",
)
def logit_update() -> Finding:
    pi = LOGITS.softmax(0)

    def difference(sample: list[int], a: torch.Tensor) -> float:
        stated = -a.sum() * pi
        for response, advantage in zip(sample, a, strict=True):  # each sampled response once, as Eq. 6 reads
            stated[response] = advantage - a.sum() * pi[response]
        return gap(_logit_update(sample, a), stated)

    repeated = _grpo(torch.tensor([[1.0, 1.0, 1.0, 0.0]]).double())[0]
    return conditional(
        difference([0, 2, 3], torch.tensor([1.2, -0.5, -0.9], dtype=torch.float64)),
        difference([0, 0, 0, 2], repeated),
        "the responses of the group are distinct; one drawn three times moves by 3 A",
    )


@chapter.says(
    "Sec. 3, case C",
    "Under GRPO (C = 0) the logit of a response that was not sampled does not move.",
    "autograd on 5 responses, 2 unsampled; C = -0.6 for comparison",
)
def unsampled_logits() -> Finding:
    zero = _logit_update([0, 2, 3], torch.tensor([1.4, -0.7, -0.7], dtype=torch.float64))[[1, 4]]
    other = _logit_update([0, 2, 3], torch.tensor([0.8, -0.7, -0.7], dtype=torch.float64))[[1, 4]]
    detail = f"in a table of logits, a response each; with C = -0.6 they move by up to {float(other.abs().max()):.3f}"
    return holds(float(zero.abs().max()), 1e-12, detail)


@chapter.says(
    "Appendix B.5, case C",
    "Under GRPO the probabilities of unsampled responses remain constant.",
    "change of log pi along Eq. 6, 5 responses",
)
def unsampled_probabilities() -> Finding:
    update = _logit_update([0, 2, 3], torch.tensor([1.4, -0.7, -0.7], dtype=torch.float64))
    change = update - LOGITS.softmax(0) @ update  # of log pi, a unit of step
    return fails(
        float(change[[1, 4]].abs().max()),
        f"logits {[round(float(x), 1) for x in LOGITS]}, sampled 0, 2, 3 with advantages 1.4, -0.7, -0.7: log pi of "
        f"both unsampled responses changes by {float(change[1]):+.3f} a unit of step, through the softmax's normaliser",
        "for logits, and for the ratio of two unsampled probabilities",
    )


@chapter.says(
    "Sec. 3, case A",
    "A sampled correct response gains logit, and strictly gains probability.",
    "all binary groups of 4 distinct",
)
def sampled_positives() -> Finding:
    least = torch.inf
    for rewards in outcomes(4)[1:-1]:
        update = _logit_update([0, 1, 2, 3], _grpo(rewards[None])[0])
        moved = (LOGITS + 0.01 * update).log_softmax(0) - LOGITS.log_softmax(0)
        least = min(least, float(moved[:4][rewards == 1].min()))
    sample = [0, 0, 0, 0, 0, 0, 1, 2]  # the first response six times, another correct one once, a wrong one once
    rewards = torch.tensor([[1.0] * 7 + [0.0]], dtype=torch.float64)
    logits = torch.tensor([0.7, 0.1, 0.1, 0.1], dtype=torch.float64).log().requires_grad_()
    objective = (_grpo(rewards)[0] * logits.log_softmax(0)[torch.tensor(sample)]).sum()
    update = torch.autograd.grad(objective, logits)[0]
    change = float((update - logits.detach().softmax(0) @ update)[1])
    return conditional(
        max(0.0, -least),
        -change,
        "the responses are distinct. With pi = (0.7, 0.1, 0.1, 0.1) and the first drawn six times, log pi of the "
        f"second correct one changes by {change:.2f} a unit of step",
    )


@chapter.says(
    "Appendix B.5, case B",
    "With negative-dominant groups the logit of a wrong response rises if the policy is confident enough of it.",
    "Eq. 35 on a grid of pi, G = 8, beta = 10; the threshold 1 / (G q (1 - 1/beta)) is ours",
)
def overconfident_negatives() -> Finding:
    worst, beta, rollouts = 0.0, 10.0, 8
    for successes in range(1, rollouts):
        rewards = by_successes(rollouts)[successes][None]
        a = Estimator("negative_dominant", {**EXACT, "beta": beta}).advantages(rewards, {}, {})[0]
        c, q = float(a.sum()), 1 - successes / rollouts
        threshold = 1 / (rollouts * q * (1 - 1 / beta))
        pi = torch.linspace(0.001, 0.999, 999, dtype=torch.float64)
        rises = float(a[-1]) - c * pi > 0
        worst = max(worst, float((rises != (pi > threshold)).double().sum()))
    return holds(worst, 0.0, "at p = 1/8 every wrong response above 16 % of the probability gains")


@chapter.says("Theorem 2, Eq. 10", "The absolute advantages of a group sum to 2 G sqrt(p (1 - p)).", "p = k/16, all k")
def update_magnitude() -> Finding:
    rewards = by_successes(16)
    p = rewards.mean(1)
    stated = 2 * 16 * (p * (1 - p)).sqrt()
    found = _grpo(rewards).abs().sum(1)
    other = _grpo(rewards, std="unbiased").abs().sum(1)
    detail = f"std over G, as in B.2; with verl's, over G - 1, the sum is up to {gap(other, stated):.2f} less at G = 16"
    return holds(gap(found, stated), 1e-10, detail)


@chapter.says(
    "Table 1a",
    "The advantages sum to 0 (GRPO), above 0 (positive-dominant), below 0 (negative-dominant).",
    "all 2^8 groups",
)
def group_controls() -> Finding:
    rewards = outcomes(8)[1:-1]
    sums = [
        Estimator(name, EXACT).advantages(rewards, {}, {}).sum(1)
        for name in ("grpo", "positive_dominant", "negative_dominant")
    ]
    wrong = float((-sums[1]).clamp(min=0).max()) + float(sums[2].clamp(min=0).max())
    return holds(
        float(sums[0].abs().max()) + wrong, 1e-12, "the table's caption writes alpha = 10 where the text has beta"
    )


@chapter.says(
    "Table 1b", "The absolute advantages sum to G sqrt(1 - p) (hard-focused) and G sqrt(p) (easy-focused).", "p = k/16"
)
def sample_controls() -> Finding:
    rewards = by_successes(16)[1:-1]
    p = rewards.mean(1)
    hard, easy = (
        Estimator(n, EXACT).advantages(rewards, {}, {}).abs().sum(1) for n in ("hard_focused", "easy_focused")
    )
    return holds(max(gap(hard, 16 * (1 - p).sqrt()), gap(easy, 16 * p.sqrt())), 1e-10)


@chapter.says(
    "Sec. 4.1",
    "gamma = 0.5 keeps the largest update magnitude of the sample-level controls at GRPO's.",
    "the largest sum of |A| over p = k/G, G = 8 and 256",
)
def gamma_normalisation() -> Finding:
    def short(rollouts: int) -> float:
        rewards = by_successes(rollouts)[1:-1]
        hard = Estimator("hard_focused", EXACT).advantages(rewards, {}, {}).abs().sum(1).max()
        return float(1 - hard / _grpo(rewards).abs().sum(1).max())

    return holds(
        short(256), 2.5e-3, f"as a supremum, for large G; at G = 8 the largest is {100 * short(8):.0f} % below GRPO's"
    )


@chapter.says(
    "Sec. 5.1, Eq. 12",
    "A larger omega moves weight from easy to hard prompts.",
    "derivative of the factor by omega, p = k/16: positive below 1/2, negative above",
)
def attention_shift() -> Finding:
    rewards = by_successes(16)[1:-1]
    p = rewards.mean(1)
    settings = {**EXACT, "levels": "sample"}
    low, high = (Estimator("a_grae", settings).advantages(rewards, {}, {"omega": w}).abs().sum(1) for w in (0.3, 0.6))
    wrong = ((high - low) * torch.sign(0.5 - p)).clamp(max=0).abs()
    return holds(float(wrong.max()), 1e-12)


def _negative_dominant_step() -> torch.Tensor:
    """Change of log pi a unit of step: logits below, 0 correct, 2 and 3 wrong, 1 and 4 unsampled, beta = 10."""
    logits = torch.tensor([-0.5, -1.1, 2.2, -0.3, -1.2], dtype=torch.float64).requires_grad_()
    rewards = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    a = Estimator("negative_dominant", EXACT).advantages(rewards, {}, {})[0]
    update = torch.autograd.grad((a * logits.log_softmax(0)[torch.tensor([0, 2, 3])]).sum(), logits)[0]
    return update - logits.detach().softmax(0) @ update


@chapter.says(
    "Appendix B.5, case A",
    "With negative-dominant groups the probability of a sampled correct response strictly increases.",
    "change of log pi along Eq. 34, 5 responses, beta = 10",
)
def negative_dominant_positives() -> Finding:
    change = float(_negative_dominant_step()[0])
    return fails(
        min(0.0, change),
        "logits (-0.5, -1.1, 2.2, -0.3, -1.2), sampled 0 (correct), 2 and 3: log pi of the correct one changes by "
        f"{change:+.3f} a unit of step, since the overconfident response 2 takes more",
        "for its logit, which does increase",
    )


@chapter.says(
    "Appendix B.5, case C",
    "With negative-dominant groups the probabilities of all unsampled responses increase.",
    "the same step",
)
def negative_dominant_unsampled() -> Finding:
    change = _negative_dominant_step()[[1, 4]]
    return fails(
        min(0.0, float(change.max())),
        f"the same logits and sample: log pi of the two changes by {float(change[0]):+.3f} and "
        f"{float(change[1]):+.3f} a unit of step",
        "for their logits; for probabilities, where no sampled response is overconfident",
    )
