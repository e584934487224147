"""Types that all schemas use: bounded numbers, days, names, and a model that rejects unknown keys."""

import datetime
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0)]


Day = Annotated[str, AfterValidator(lambda text: datetime.date.fromisoformat(text).isoformat())]  # 2024-08-01
Two = Annotated[tuple[Fraction, Fraction], Field(strict=False)]  # a list in the file


def check_name(name: str) -> str:
    """The name, which becomes a part of paths. Raises ValueError."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        rule = "letters, digits, '.', '_' and '-' alone, and begins with a letter or a digit"
        raise ValueError(f"{name!r} cannot be a name: a name has {rule}")
    return name


Name = Annotated[str, AfterValidator(check_name)]


class UnknownKey(ValueError):
    """A key that a mapping cannot have, and the keys that it can."""

    def __init__(self, key: str, fields: list[str]):
        super().__init__(f"unknown key {key!r}")
        self.key, self.fields = key, fields


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=())

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, content: Any) -> Any:
        fields = cls.model_fields
        for key in content if isinstance(content, dict) else ():
            if key not in fields:
                raise UnknownKey(key, [*fields])
        return content
