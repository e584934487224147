"""The inputs of a training stage."""

from pathlib import Path

from rlvr.config.schema.settings import Sft
from rlvr.config.schema.specs import PolicySpec
from rlvr.files import RecordError
from rlvr.records import Pictured, PicturesUnread, Problem, read_records, text_alone, with_paths
from rlvr.verifiers import THINK


def problems_of(*paths: Path) -> list[list[Problem]]:
    """The problems of each file, with the paths of their pictures. Exits if a picture is missing."""
    try:
        return [with_paths(path, read_records(path, Problem)) for path in paths]
    except RecordError as error:
        raise SystemExit(str(error)) from error


def texts_of(path: Path, kind: type[Pictured]) -> list[Pictured]:
    """The problems or demonstrations of a file. Exits if one has a picture, which some backends do not pass on."""
    try:
        return text_alone(read_records(path, kind), path)
    except PicturesUnread as error:
        raise SystemExit(str(error)) from error


def continued(template: str, response: str) -> str:
    """A demonstration's response, without the <think> that opens at the end of the prompt's template."""
    opened = template.rstrip().endswith(THINK) and response.lstrip().startswith(THINK)
    return response.lstrip().removeprefix(THINK).lstrip("\n") if opened else response


def sft_of(spec: Path) -> tuple[PolicySpec, Sft]:
    """A policy's specification and its SFT settings. Exits if it has none."""
    policy = PolicySpec.model_validate_json(spec.read_bytes())
    if policy.sft is None:
        raise SystemExit(f"{spec}: this policy has no SFT settings")
    return policy, policy.sft
