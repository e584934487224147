"""Checks that prompts and responses fit a model's context, before any job."""

from rlvr.config.layers import ConfigError, Layer, place_of
from rlvr.config.schema.models_and_data import LocalModel, Model, ScratchModel
from rlvr.config.schema.settings import Evaluation, Rollout


def check_rollout(model: Model, rollout: Rollout, layers: list[Layer]) -> None:
    """Raises ConfigError where a prompt and a response of training may be longer than the model's context."""
    prompt, response = rollout.max_prompt_tokens, rollout.max_response_tokens
    terms = {("rollout", "max_prompt_tokens"): prompt, ("rollout", "max_response_tokens"): response}
    _check(model, terms, layers, "lower one of them")


def check_evaluation(model: Model, sampling: Evaluation, prompt: int, layers: list[Layer]) -> None:
    """Raises ConfigError where a prompt (at most `prompt` tokens) and its response may exceed the model's context."""
    if sampling.max_total_tokens is not None:
        return _check(model, {("evaluation", "max_total_tokens"): sampling.max_total_tokens}, layers, "lower it")
    response = sampling.max_response_tokens
    terms = {("rollout", "max_prompt_tokens"): prompt, ("evaluation", "max_response_tokens"): response}
    return _check(model, terms, layers, "lower one of them, or set evaluation.max_total_tokens to the context")


def _check(model: Model, terms: dict[tuple[str, str], int], layers: list[Layer], advice: str) -> None:
    about = None if isinstance(model, ScratchModel) else model.about
    total = sum(terms.values())
    if about is None or total <= about.context:
        return
    place = (
        f"config.json of {model.path}"
        if isinstance(model, LocalModel)
        else f"config/models.yaml: {model.name}.about.context"
    )
    words = " and ".join(f"{place_of(layers, keys)}: {value}" for keys, value in terms.items())
    raise ConfigError(
        f"{words}: {total} tokens are more than the context of {model.name}, {about.context} ({place}); {advice}"
    )
