"""What a stage of training reads."""

from __future__ import annotations

from pathlib import Path

from rlvr.config.schema.settings import Sft
from rlvr.config.schema.specs import PolicySpec
from rlvr.records import PicturesUnread, Problem, read_records, text_alone


def problems_of(*paths: Path) -> list[list[Problem]]:
    """The problems of each file. Exits where one has pictures, which no policy here sees."""
    try:
        return [text_alone(read_records(path, Problem), path) for path in paths]
    except PicturesUnread as error:
        raise SystemExit(str(error)) from error


def sft_of(spec: Path) -> tuple[PolicySpec, Sft]:
    """The policy that a file specifies, and how it is fine-tuned. Exits where it is not."""
    policy = PolicySpec.model_validate_json(spec.read_bytes())
    if policy.sft is None:
        raise SystemExit("this policy has no SFT")
    return policy, policy.sft
