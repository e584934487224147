"""Splits of a generated task: every problem belongs to exactly one part, by a hash of its text."""

import hashlib


def part_of(text: str, parts: dict[str, int]) -> str:
    """The one part that may hold this problem; `parts` has the share of each, in any unit."""
    point = int(hashlib.sha256(text.encode()).hexdigest(), 16) % sum(parts.values())
    for part, share in parts.items():
        point -= share
        if point < 0:
            return part
    raise AssertionError("the shares cover every point")
