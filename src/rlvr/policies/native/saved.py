"""A policy on disk for the native engine: its folder is one that transformers loads, read and written without it."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import deserialize
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from rlvr.files import read_json
from rlvr.policies.native.model import Model, Unsupported
from rlvr.policies.store import locate

WEIGHTS = "model.safetensors"
TYPES = {"F32": np.float32, "F16": np.float16}


class SavedTokenizer:
    """A tokenizer.json with the part of transformers' interface that policies use."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        settings = read_json(folder / "tokenizer_config.json")
        if settings.get("clean_up_tokenization_spaces"):
            raise Unsupported(f"{folder}: clean_up_tokenization_spaces: true; the native engine's texts keep spaces")
        self.eos_token_id, self.pad_token_id = (self._id(settings.get(f"{name}_token")) for name in ("eos", "pad"))
        if self.eos_token_id is None:
            raise Unsupported(f"{folder}: the tokenizer names no end-of-sequence token")

    def _id(self, token: Any) -> int | None:
        text = token.get("content") if isinstance(token, dict) else token
        return None if text is None else self._tokenizer.token_to_id(text)

    def __call__(self, texts: list[str], *, add_special_tokens: bool) -> dict[str, list[list[int]]]:
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=add_special_tokens)
        return {"input_ids": [row.ids for row in encoded]}

    def batch_decode(self, rows: list[Any], *, skip_special_tokens: bool) -> list[str]:
        lists = [row.tolist() if hasattr(row, "tolist") else row for row in rows]
        return self._tokenizer.decode_batch(lists, skip_special_tokens=skip_special_tokens)

    def get_vocab(self) -> dict[str, int]:
        return self._tokenizer.get_vocab()

    def save_pretrained(self, folder: Path) -> None:
        for file in sorted(self.folder.iterdir()):
            if file.is_file() and file.suffix != ".safetensors" and not (folder / file.name).exists():
                shutil.copyfile(file, folder / file.name)


@dataclass(frozen=True)
class SavedModel:
    """A model's configuration and its weights as one flat float32 array, in the order of `Model.weights`."""

    model: Model
    config: dict[str, Any]
    flat: np.ndarray

    @classmethod
    def read(cls, folder: Path) -> SavedModel:
        """Raises Unsupported for a model that the engine does not compute, or whose weights are not its config's."""
        if not (folder / WEIGHTS).is_file():
            raise Unsupported(f"{folder}: no {WEIGHTS}; the native engine reads weights from one file")
        config = read_json(folder / "config.json")
        model, stored = Model.of(config), read_weights(folder / WEIGHTS)
        for name, shape in model.weights().items():
            if name not in stored or stored[name].shape != shape:
                found = stored[name].shape if name in stored else "missing"
                raise Unsupported(f"{folder / WEIGHTS}: {name} is {found}, not {shape}")
        flat = np.concatenate([stored[name].ravel() for name in model.weights()])
        return cls(model, config, flat)

    def write(self, folder: Path) -> None:
        """Write config.json and the weights, as `save_pretrained` does."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config, indent=2, sort_keys=True) + "\n")
        save_file(named(self.model, self.flat), folder / WEIGHTS, metadata={"format": "pt"})


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a file in float32. Raises Unsupported for a type other than float32, float16 and bfloat16."""
    tensors = {}
    for name, entry in deserialize(path.read_bytes()):
        if entry["dtype"] == "BF16":  # the upper half of a float32
            values = (np.frombuffer(entry["data"], np.uint16).astype(np.uint32) << 16).view(np.float32)
        elif entry["dtype"] in TYPES:
            values = np.frombuffer(entry["data"], TYPES[entry["dtype"]]).astype(np.float32)
        else:
            raise Unsupported(f"{path}: {name} is of type {entry['dtype']}, not of {', '.join([*TYPES, 'BF16'])}")
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def named(model: Model, flat: Any) -> dict[str, Any]:
    """Views of a flat array or tensor, by name."""
    views, at = {}, 0
    for name, shape in model.weights().items():
        size = int(np.prod(shape))
        views[name] = flat[at : at + size].reshape(shape)
        at += size
    return views


def read_policy(manifest: Path) -> tuple[SavedModel, SavedTokenizer, str]:
    """Model, tokenizer and template of a policy. Raises RecordError like `locate`, and Unsupported."""
    place = locate(manifest)
    folder = Path(place.location)
    return SavedModel.read(folder), SavedTokenizer(folder), place.template
