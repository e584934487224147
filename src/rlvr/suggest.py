"""Words of messages, and names that are given in short."""

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from rlvr.files import Mistake

ALL, NEAREST = 8, 5  # names: so many are all listed, of more the nearest
LONGEST = 40  # characters of a value or a key in a message


def close(wrong: Any, valid: Iterable[Any], cutoff: float = 0.5) -> str | None:
    """The name that is most like a wrong one, whatever their case; None where none is."""
    names = {str(name).casefold(): str(name) for name in reversed(sorted(map(str, valid)))}
    found = get_close_matches(str(wrong).casefold(), sorted(names), n=1, cutoff=cutoff)
    return names[found[0]] if found else None


def nearest(wrong: Any, valid: Iterable[Any], lister: str = "") -> str:
    """`; did you mean 'x'?` where a name is close, else the valid names; the command `lister` lists all of many."""
    names = sorted(map(str, valid))
    if name := close(wrong, names):
        return f"; did you mean {name!r}?"
    more = f" (`{lister}` lists all)" if lister and len(names) > ALL else ""
    return f"; valid: {listed(names, str(wrong))}{more}"


def listed(names: list[str], like: str) -> str:
    """The names; of many those most like a name, and the number of the others."""
    if len(names) <= ALL:
        return ", ".join(names) or "none"
    by_letters = {name.casefold(): name for name in names}
    near = get_close_matches(like.casefold(), by_letters, n=NEAREST, cutoff=0.0)
    return f"{', '.join(by_letters[name] for name in near)} and {len(names) - NEAREST:,} more"


class NotNamed(Mistake, LookupError):
    """A name that none has, or that several begin with; the message says which ones are there."""


def named(given: str, valid: Iterable[str], what: str, lister: str = "") -> str:
    """The name that is given whole, or by a beginning of each of its parts (between slashes) that no other has.

    A whole part comes before a beginning, and one that ends with a word before others: `seed1` is not `seed10`.
    Raises NotNamed, which lists the names that begin so, or are near; `what` says what they are of.
    """
    parts, names = given.rstrip("/").split("/"), list(valid)
    if not all(parts):
        raise NotNamed(f"{given}: an empty name; {what} have names")
    alike = [name for name in names if name.count("/") == len(parts) - 1]
    found = [name.split("/") for name in alike]
    for place, part in enumerate(parts):
        found = _beginning(found, place, part)
    if len(found) == 1:
        return "/".join(found[0])
    if not found:
        raise NotNamed(f"{given}: none of {what} has this name{nearest(given, alike or names, lister)}")
    several = listed(sorted("/".join(name) for name in found), given)
    raise NotNamed(f"{given}: {len(found):,} of {what} begin so: {several}; give more of the name")


def _beginning(names: list[list[str]], place: int, part: str) -> list[list[str]]:
    """The names with this part at a place, else those where a word ends after it, else those that go on in any way."""
    for after in (r"\Z", r"(?![A-Za-z0-9])", ""):
        found = [name for name in names if re.match(re.escape(part) + after, name[place])]
        if found:
            break
    return found


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
    except TypeError:  # bytes, for example, which parquet holds and JSON does not
        text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
