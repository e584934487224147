"""The schema of what a paper's text states of its settings and its hardware (config/papers/<paper>/stated.yaml)."""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, field_validator, model_validator

from rlvr.config.schema.fields import Positive, Rate, Strict

NOT_STATED: Final = "not stated"


def _check_place(says: str, place: str) -> None:
    if (says == NOT_STATED) != (not place):
        raise ValueError("says: a sentence of the paper needs its `place`; what is not stated has neither")


class Statement(Strict):
    """What the paper says of one setting; without `says`, that it says nothing.

    `models` and `arms` (names, or patterns such as `ace_*`) are those that it is about; without them it is about all.
    `value` is the number or name that the sentence states, `values` those by model, `one_of` those of an ablation; a
    sentence that only a reader can compare has none of them. `deviation` is a word or a few of the item of
    deviations.md that says why our value is another one, or why we chose it.
    """

    says: str = NOT_STATED
    place: str = ""
    value: Any = None
    values: dict[str, Any] = {}
    one_of: list[Any] = []
    models: list[str] = []
    arms: list[str] = []
    deviation: str = ""

    @field_validator("value", mode="before")
    @classmethod
    def is_a_value(cls, value: Any) -> Any:
        if value is None or isinstance(value, dict):
            raise ValueError("must be a number, a name or a list of them; leave it out where the paper states none")
        return value

    @model_validator(mode="after")
    def says_where(self):
        _check_place(self.says, self.place)
        given = [key for key in ("value", "values", "one_of") if key in self.model_fields_set]
        if len(given) > 1:
            raise ValueError(f"{given[0]}: has no effect beside `{given[1]}`; remove one of them")
        if given and self.says == NOT_STATED:
            raise ValueError(f"{given[0]}: is a value of the paper, so `says` must have its sentence")
        return self

    @property
    def has_value(self) -> bool:
        return bool({"value", "values", "one_of"} & self.model_fields_set)


def _statements(entry: Any) -> Any:
    """An entry of the file as a list: `not stated`, one statement, or a list of them."""
    if entry == NOT_STATED:
        return [{}]
    if isinstance(entry, dict):
        return [entry]
    if not isinstance(entry, list) or not entry:
        raise ValueError(f"must be `{NOT_STATED}`, a statement (says, place) or a list of statements")
    return entry


# Where several are about one run, the last holds.
Statements = Annotated[
    list[Statement],
    BeforeValidator(_statements, json_schema_input_type=Literal[NOT_STATED] | Statement | list[Statement]),
]


class HardwareStatement(Strict):
    """What the paper says of the devices of a run. `why`: the reason where ours are not within a factor of three."""

    models: list[str] = []
    says: str = NOT_STATED
    place: str = ""
    gpus: Positive | None = None  # that one run takes
    gpu_hours: Rate | None = None  # of one run
    why: str = ""

    @model_validator(mode="after")
    def says_where(self):
        _check_place(self.says, self.place)
        return self
