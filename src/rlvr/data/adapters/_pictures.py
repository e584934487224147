"""Pictures as parquet stores them: {"bytes": ..., "path": ...}."""

from typing import Any

from rlvr.data.adapters import LeftOut

SIGNATURES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp"}


def content(value: Any) -> bytes:
    data = value.get("bytes") if isinstance(value, dict) else value
    if not isinstance(data, bytes) or ending(data) is None:
        raise LeftOut("no picture")
    return data


def ending(data: bytes) -> str | None:
    """A picture's file ending by its first bytes; None if unknown. Published names must not become paths."""
    return next((ending for start, ending in SIGNATURES.items() if data.startswith(start)), None)


def with_options(question: str, options: list[str]) -> str:
    lines = [f"({letter}) {option}" for letter, option in zip("ABCDEFGHIJ", options, strict=False)]
    return "\n".join([question, *lines])
