"""A published row, read by type, without conversions between types.

A missing field (null, NaN, an empty text) leaves the row out, for a counted reason. A field of another type is an
error: the file is not in the set's format.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from rlvr.data.golds import text_of

KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


class LeftOut(Exception):
    """A row without a problem. The message is the short reason that it is counted under."""


class WrongType(ValueError):
    """A field of another type than the set publishes."""


@dataclass(slots=True)  # not frozen: sets have millions of rows
class Row:
    """A row by our names. `names` maps them to the published file's, for messages.

    An object in a row has its own names; `within` is the field that holds it.
    """

    values: Mapping[str, Any]
    names: Mapping[str, str]
    within: str = ""

    def text(self, name: str, reason: str) -> str:
        """A text without outer white space. Raises LeftOut with the reason if it is missing."""
        value = self.maybe_text(name)
        if not value:
            raise LeftOut(reason)
        return value

    def maybe_text(self, name: str, default: str = "") -> str:
        """A text without outer white space, or the default if it is missing."""
        return self.verbatim(name).strip() or default

    def verbatim(self, name: str) -> str:
        """An unchanged text, such as code, whose first line may be indented; empty if it is missing."""
        return self._of(name, str, "")

    def answer(self, name: str, reason: str) -> str:
        """A text, or the digits of a number: 27, 27.0 and "27" are published for the same answer."""
        if isinstance(self.values.get(name), (list, dict)):
            return self.text(name, reason)
        return self.gold(name, reason)

    def gold(self, name: str = "gold", reason: str = "no answer") -> str:
        """A published answer: a text, a number, or a list of them (rlvr.data.golds). Raises LeftOut if it is missing.

        It stays as published: what follows reads the answer in it.
        """
        value = self.values.get(name)
        if isinstance(value, dict):
            raise WrongType(f"`{self.published(name)}` must be a text, and is {kind(value)}")
        try:
            text = text_of(value)
        except TypeError as error:
            raise WrongType(f"`{self.published(name)}` {error}") from error
        if not text:
            raise LeftOut(reason)
        return text

    def label(self, name: str, default: str = "all") -> str:
        """A short text or a number that a set sorts its problems by, or the default if it is missing."""
        try:
            return self.answer(name, "")
        except LeftOut:
            return default

    def listed(self, name: str) -> list[Any]:
        """A list, empty if it is missing."""
        return self._of(name, list, [])

    def texts(self, name: str) -> list[str]:
        """A list of texts, empty if it is missing."""
        values = self.listed(name)
        for value in values:
            if not isinstance(value, str):
                raise WrongType(f"`{self.published(name)}` must be a list of texts, and one of them is {kind(value)}")
        return values

    def mapping(self, name: str) -> Self:
        """An object as a row of its own fields, empty if it is missing."""
        return type(self)(self._of(name, dict, {}), {}, f"{self.published(name)}.")

    def number(self, name: str) -> float | None:
        """A finite number, or None if it is missing."""
        value = self.values.get(name)
        if _missing(value):
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise WrongType(f"`{self.published(name)}` must be a number, and is {kind(value)}")
        if abs(value) > 1e18:
            raise LeftOut("a number out of range")
        return float(value)

    def published(self, name: str) -> str:
        """The name of a field in the published file."""
        return self.within + self.names.get(name, name)

    def _of(self, name: str, wanted: type, default: Any) -> Any:
        value = self.values.get(name)
        if type(value) is wanted:
            return value
        if _missing(value):
            return default
        raise WrongType(f"`{self.published(name)}` must be {KINDS[wanted]}, and is {kind(value)}")


def _missing(value: Any) -> bool:
    """Whether a value is null, or NaN, as files from data frames write null."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def kind(value: Any) -> str:
    return KINDS.get(type(value), f"of type {type(value).__name__}")
