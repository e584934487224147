"""Types that all schemas use: bounded numbers, days, names, and a model that rejects unknown keys."""

import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Rate = Annotated[float, Field(gt=0)]


Day = Annotated[str, AfterValidator(lambda text: datetime.date.fromisoformat(text).isoformat())]  # 2024-08-01
Two = Annotated[tuple[Fraction, Fraction], Field(strict=False)]  # a list in the file

# The names in a file become parts of paths.
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
Name = Annotated[str, Field(pattern=f"^{NAME}$")]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, protected_namespaces=())
