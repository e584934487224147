"""Words of messages."""

from difflib import get_close_matches
from typing import Any


def nearest(wrong: Any, valid: Any) -> str:
    """`; did you mean 'x'?` where a name is close, else the valid names."""
    valid = sorted(map(str, valid))
    close = get_close_matches(str(wrong), valid, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(valid) or 'none'}"
