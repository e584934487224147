"""Gated models are named before any job: fetching them needs accepted terms and a login."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any


def notices(models: Iterable[Any]) -> list[str]:
    """A line for each gated model that is not in the hub's cache yet."""
    lines = []
    for model in models:
        if not getattr(getattr(model, "about", None), "gated", False):
            continue
        from huggingface_hub import get_token, try_to_load_from_cache

        config = try_to_load_from_cache(model.repo, "config.json", revision=model.revision)
        if not (isinstance(config, str) and Path(config).is_file()):
            found = "a token was found" if get_token() else "no token was found"
            lines.append(f"{model.how_to_be_let_in} ({found} on this machine)")
    return lines
