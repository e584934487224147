"""Words of messages."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

LONGEST = 40  # characters of a value or a key in a message


def close(wrong: Any, valid: Iterable[Any], cutoff: float = 0.5) -> str | None:
    """The name that is most like a wrong one, whatever their case; None where none is."""
    names = {str(name).casefold(): str(name) for name in reversed(sorted(map(str, valid)))}
    found = get_close_matches(str(wrong).casefold(), sorted(names), n=1, cutoff=cutoff)
    return names[found[0]] if found else None


def nearest(wrong: Any, valid: Iterable[Any]) -> str:
    """`; did you mean 'x'?` where a name is close, else the valid names."""
    valid = sorted(map(str, valid))
    name = close(wrong, valid)
    return f"; did you mean {name!r}?" if name else f"; valid: {', '.join(valid) or 'none'}"


def missing(field: str, present: Iterable[str], known: Iterable[str]) -> str:
    """Says that a record lacks a field, with the unknown key that is most like it, else unknown and valid keys."""
    known = list(known)
    unknown = [key for key in present if key not in known]
    if misspelt := close(field, unknown):
        return f"is missing; unknown key {shown(misspelt)}; did you mean {shown(field)}?"
    several = f"; unknown key{'s' * (len(unknown) > 1)} {', '.join(map(shown, unknown[:3]))}" if unknown else ""
    return f"is missing{several}; valid keys: {', '.join(known)}"


def shown(value: Any) -> str:
    """A value as JSON, so a text in quotes; a long one is cut."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        text = "lists nested too deep"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
