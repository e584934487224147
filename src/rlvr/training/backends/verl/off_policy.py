"""Whether the rollout engine sampled from the policy that is trained, by its log-probabilities."""


class OffPolicy(RuntimeError):
    """The engine sampled from another policy than the trainer has."""


def check_gap(gap: float | None, step: int, warning: float, limit: float) -> None:
    """Warn of a gap between the engine's and the trainer's log-probabilities; raise OffPolicy beyond the limit.

    `warning` and `limit` are `execution.logprob_gap_warning` and `logprob_gap_limit`. Rounding gives a few hundredths
    of a nat in bfloat16. More than that is another policy: weights that did not arrive, or a kernel that is wrong.
    """
    if gap is None or gap <= warning:
        return
    what = f"step {step}: the rollout engine's log-probabilities differ from the trainer's by {gap:.3f} nats per token"
    if not gap <= limit:  # of NaN, too
        raise OffPolicy(
            f"{what}, and execution.logprob_gap_limit (config/defaults.yaml) allows {limit}: the rollouts are not this "
            "policy's, so nothing was learnt from them; look for weights that vLLM did not load, and at "
            "execution.attention and rl.precision"
        )
    print(f"warning: {what} (execution.logprob_gap_warning: {warning})", flush=True)
