"""A policy on disk: a folder that `AutoModelForCausalLM.from_pretrained` loads, and a manifest that vouches for it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.models.auto.tokenization_auto import get_tokenizer_config

from rlvr.files import RecordError, publish_json, read_json, sha256, whole


@dataclass
class Policy:
    """A model, its tokenizer, and the template that wraps a problem into a prompt."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    template: str

    @property
    def eos(self) -> int:
        return int(self.tokenizer.eos_token_id)  # type: ignore[arg-type]

    @property
    def pad(self) -> int:
        pad = self.tokenizer.pad_token_id
        return self.eos if pad is None else int(pad)  # type: ignore[arg-type]

    def encode(self, problems: list[str]) -> list[list[int]]:
        texts = [self.template.replace("{problem}", problem) for problem in problems]
        return self.tokenizer(texts, add_special_tokens=False)["input_ids"]  # type: ignore[return-value]

    def decode(self, tokens: list[list[int]] | list[np.ndarray]) -> list[str]:
        """Texts of tokens; arrays are faster, since transformers asks each token of a list for its type."""
        return self.tokenizer.batch_decode(tokens, skip_special_tokens=True)  # type: ignore[arg-type]


def save(policy: Policy, folder: Path) -> dict[str, str]:
    """Write model and tokenizer into a new folder, renamed into place when whole; returns checksums of its files."""
    with whole(folder) as partial:
        policy.model.save_pretrained(partial)
        policy.tokenizer.save_pretrained(partial)
        sums = {file.name: sha256(file) for file in sorted(partial.iterdir())}
    return sums


def publish_manifest(path: Path, folder: Path, sums: dict[str, str], template: str, **more: Any) -> None:
    """Publish a manifest; the policy's folder is named relative to it."""
    relative = os.path.relpath(folder, path.parent)
    publish_json(path, {"policy": relative, "files": sums, "template": template, **more})


@dataclass(frozen=True)
class Location:
    """Where a policy's model and tokenizer are loaded from: a folder, or a repository of the hub at a commit."""

    location: str
    options: dict[str, str]
    dtype: str
    template: str


def locate(manifest: Path) -> Location:
    """What a manifest names. Raises RecordError where a file is missing or damaged, or no commit is named."""
    content = read_json(manifest)
    if "hub" in content:
        hub = content["hub"]
        if "commit" not in hub:
            raise RecordError(f"{manifest}: names no commit of {hub['repo']}; delete it to make it again")
        return Location(hub["repo"], {"revision": hub["commit"]}, hub["dtype"], content["template"])
    folder = (manifest.parent / content["policy"]).resolve()
    for name, expected in content["files"].items():
        if not (folder / name).is_file() or sha256(folder / name) != expected:
            raise RecordError(f"{folder / name} is missing or damaged; delete {manifest} to make it again")
    return Location(str(folder), {}, "float32", content["template"])


def load(manifest: Path, *, device: str | torch.device = "cpu", dtype: torch.dtype | None = None) -> Policy:
    """The policy that a manifest names, in its own precision or another. Raises RecordError like `locate`."""
    found = locate(manifest)
    tokenizer = load_tokenizer(found.location, **found.options)
    dtype = dtype or getattr(torch, found.dtype)
    model = AutoModelForCausalLM.from_pretrained(found.location, dtype=dtype, **found.options)
    model.to(device)  # type: ignore[arg-type]
    return Policy(model, tokenizer, found.template)


def load_tokenizer(location: str, **options: Any) -> PreTrainedTokenizerBase:
    """The tokenizer that was saved.

    transformers 5 takes the class declared beside a Qwen2 model for a mistake and builds a byte-level BPE from
    the vocabulary instead, so a tokenizer that declares the general class is loaded by it.
    """
    if get_tokenizer_config(location, **options).get("tokenizer_class") == "TokenizersBackend":
        return PreTrainedTokenizerFast.from_pretrained(location, **options)
    return AutoTokenizer.from_pretrained(location, **options)


def device() -> torch.device:
    """The GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
