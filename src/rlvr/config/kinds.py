"""Which keys a table, a figure or a claim of each kind reads. Another key would change nothing, so it is an error."""

from __future__ import annotations

from pydantic import BaseModel

from rlvr.config.layers import ConfigError
from rlvr.config.schema.items import Claim, Figure, Table

COMMON = ("title", "kind", "note")
METHODS = ("models", "rows", "every_arm", "sweep", "compare_with")
CURVES = ("models", "arms", "sweep", "repeats", "up_to_step")
SCORED = ("benchmark", "benchmarks", "k")

TABLES = {
    "pass_at_k": (*METHODS, *SCORED, "hard_levels", "measures", "matched", "reference"),
    "across_benchmarks": (*METHODS, "benchmarks", "k"),
    "diversity": (*METHODS, "benchmark", "benchmarks", "hard_levels", "reference"),
    "collapse": (*METHODS, "repeats"),
    "settings": ("models", "reference"),
    "analytic": ("content",),
    "published": ("reference",),
}
FIGURES = {
    "pass_at_k_curves": ("tables", "models", "arms", "sweep", *SCORED),
    "frontier": ("models", "arms", "sweep", *SCORED),
    "over_steps": (*CURVES, "measures", "smooth"),
    "solve_rates": (*CURVES, "smooth"),
    "masses": CURVES,
    "collapse": CURVES,
    "analytic": ("content",),
}
NEEDED = {"settings": ("models", "reference"), "published": ("reference",), "analytic": ("content",)}
EITHER = (  # only one of two may be given: the first would be ignored
    ("benchmark", "benchmarks"),
    ("rows", "every_arm"),
    ("models", "tables"),
    ("arms", "tables"),
    ("sweep", "tables"),
    ("benchmark", "tables"),
    ("benchmarks", "tables"),
    ("k", "tables"),
)


def given(content: BaseModel) -> list[str]:
    """The keys that were written, and not with what they are anyway."""
    fields = type(content).model_fields
    written = [name for name in fields if name in content.model_fields_set]
    return [name for name in written if getattr(content, name) != fields[name].get_default(call_default_factory=True)]


def check(content: Table | Figure, place: str) -> None:
    """Raises ConfigError for a key that the kind has not, and for one that it needs and is not there."""
    what, kinds = ("table", TABLES) if isinstance(content, Table) else ("figure", FIGURES)
    keys, written = kinds[content.kind], given(content)
    for key in written:
        if key not in (*COMMON, *keys):
            own = ", ".join((*COMMON, *keys))
            raise ConfigError(f"{place}.{key}: a {what} of kind {content.kind} has no `{key}`; it has {own}")
    for key in NEEDED.get(content.kind, ()):
        if key not in written:
            raise ConfigError(f"{place}.{key}: this key is missing; a {what} of kind {content.kind} needs it")
    for ignored, other in EITHER:
        if ignored in written and other in written:
            raise ConfigError(f"{place}.{ignored}: says nothing beside `{other}`; leave one of them out")


def check_claim(claim: Claim, content: Table | Figure, place: str) -> None:
    """Raises ConfigError for a key that a claim over such a table or figure does not read."""
    ignored: tuple[str, ...] = ()
    if isinstance(content, Figure):
        what, ignored = "a figure of curves", ("k", "benchmarks")
    elif content.kind == "collapse":
        what, ignored = "a table of collapses", ("k", "benchmarks", "during")
    else:
        what, ignored = "a table of scores", ("during",)
    for key in given(claim):
        if key in ignored:
            raise ConfigError(f"{place}.{key}: a claim over {what} has no `{key}`; {claim.over} is one")
