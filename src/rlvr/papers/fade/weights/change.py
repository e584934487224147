"""How far RL moved a policy's weights from its base policy, where, and in which directions.

Delta = W_RL - W_SFT (FADE, App. 15; its sec. 4.2 has this sign, its Figure 5 the other, and no number here depends on
it). Where a run kept the weights of its probed steps, each has a row, else only the run's result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer
from torch import Tensor

from rlvr.files import RecordError, read_json
from rlvr.papers.fade.weights import spectrum
from rlvr.papers.fade.weights.spectrum import Spectrum
from rlvr.policies.store import EMBEDDING, HEAD, kept_files, locate

SKETCH = 8192  # numbers that stand for a whole change: cosines between changes from them are off by about 1 / 90
SUPPRESSED = 10  # tokens that are named
THIRDS = ("early", "middle", "late")


class Stored(Mapping[str, Tensor]):
    """The weights of a policy's folder, or of one step of a run, read one tensor at a time, in float32."""

    def __init__(self, files: list[Path], prefix: str = ""):
        from safetensors import safe_open

        self._open = [safe_open(file, framework="pt") for file in files]
        names = {name: file for file in self._open for name in file.keys()}  # noqa: SIM118 - no mapping
        self._files = {name.removeprefix(prefix): file for name, file in names.items() if name.startswith(prefix)}
        self._prefix = prefix
        if not self._files:
            raise RecordError(f"no weights {prefix} in {', '.join(map(str, files)) or 'no file'}")

    @classmethod
    def of_policy(cls, manifest: Path) -> Stored:
        return cls(sorted(Path(locate(manifest).location).glob("*.safetensors")))

    def __getitem__(self, name: str) -> Tensor:
        return self._files[name].get_tensor(self._prefix + name).float()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._files))

    def __len__(self) -> int:
        return len(self._files)

    @property
    def head(self) -> str:
        """The weights that make logits: the head's, or the embedding's where the two are tied."""
        return HEAD if HEAD in self._files else EMBEDDING


def layer_of(name: str) -> int | None:
    return int(name.split(".")[2]) if name.startswith("model.layers.") else None


class Change:
    """Delta of all weights at one step: norms, shares, and the spectra of matrices."""

    def __init__(self, base: Stored, weights: Stored):
        if set(base) != set(weights):
            raise RecordError(f"other weights than the base policy's: {sorted(set(base) ^ set(weights))[:3]}")
        self.squares: dict[str, float] = {}
        self.spectra: dict[str, Spectrum] = {}
        self.base_square, self.head = 0.0, base.head
        for name in base:
            before = base[name]
            delta = weights[name] - before
            self.base_square += float(before.double().pow(2).sum())
            self.squares[name] = float(delta.double().pow(2).sum())
            if delta.ndim == 2 and (name == self.head or layer_of(name) is not None):
                self.spectra[name] = spectrum.of(delta)

    def row(self) -> dict[str, Any]:
        """The measures of docs/training.md. A share is of |Delta|^2, so that all shares sum to 1."""
        whole, head = sum(self.squares.values()), self.spectra[self.head]
        layers: dict[int, float] = {}
        for name, square in self.squares.items():
            if (layer := layer_of(name)) is not None:
                layers[layer] = layers.get(layer, 0.0) + square
        share = {layer: square / whole if whole else None for layer, square in sorted(layers.items())}
        inner = [s for name, s in self.spectra.items() if name != self.head]
        srank = head.srank()
        return {
            "weights_l2": math.sqrt(whole),
            "weights_l2_relative": math.sqrt(whole / self.base_square),
            "head_share": self.squares[self.head] / whole if whole else None,
            "layer_share": sum(layers.values()) / len(layers) / whole if whole else None,
            "layer_shares": list(share.values()),
            "s1_over_s2": head.gap,
            "rank_1_share": head.rank_1_share,
            "srank": None if srank is None else sum(srank) / 2,
            "srank_bounds": None if srank is None else list(srank),
            "largest_error": float(head.error[:2].max()),
            "rank_1_share_inner": _mean([s.rank_1_share for s in inner]),
            "s1_over_s2_inner": _mean([s.gap for s in inner]),
        }

    def shares(self) -> dict[str, float]:
        """The share of each weight in |Delta|^2; empty where nothing changed."""
        whole = sum(self.squares.values())
        return {name: square / whole for name, square in self.squares.items()} if whole else {}

    def alignment(self, last: Change) -> dict[str, float | None]:
        """|cos| of leading left singular vectors with those of the last step (FADE, Table 12), by thirds of layers."""

        def cosine(name: str) -> float | None:
            a, b = self.spectra[name], last.spectra[name]
            return abs(float(a.left.double() @ b.left.double())) if a.norm > 0 and b.norm > 0 else None

        count = 1 + max(layer for name in self.spectra if (layer := layer_of(name)) is not None)
        parts: dict[str, list[float | None]] = {third: [] for third in THIRDS}
        for name in self.spectra:
            if (layer := layer_of(name)) is not None:
                parts[THIRDS[min(2, 3 * layer // count)]].append(cosine(name))
        return {"align_head": cosine(self.head), **{f"align_{third}": _mean(values) for third, values in parts.items()}}


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def sketch(base: Stored, weights: Stored, size: int = SKETCH) -> list[float]:
    """A change in `size` numbers whose inner products estimate those of whole changes (CountSketch).

    Each weight has a place and a sign. They follow only from its tensor's name and its index, so sketches of
    changes from different base policies compare too (Charikar, Chen & Farach-Colton 2002).
    """
    total = np.zeros(size)
    for name in base:
        delta = (weights[name] - base[name]).flatten().numpy()
        generator = np.random.Generator(np.random.Philox(key=int(sha256(name.encode()).hexdigest()[:32], 16)))
        for start in range(0, len(delta), 1 << 22):
            part = delta[start : start + (1 << 22)]
            drawn = generator.integers(0, 2 * size, len(part))
            total += np.bincount(drawn >> 1, weights=part * (1.0 - 2.0 * (drawn & 1)), minlength=size)
    return [float(f"{value:.6g}") for value in total]


def _by_token(head: Spectrum, words: int) -> Tensor:
    """The first left singular vector of the head's change (words,), without the rows that pad the vocabulary.

    A singular vector has no sign of its own; here most of its entries are negative, as in FADE, App. 15.1.
    """
    direction = head.left.double()[:words]
    return -direction if int((direction > 0).sum()) > words / 2 else direction


def token_shares(head: Spectrum, words: int) -> dict[str, float | None]:
    """The share of tokens that the head's main direction lowers, and of those that hold half of its energy."""
    if not head.norm:
        return {"negative_share": None, "half_energy_share": None}
    direction = _by_token(head, words)
    energy = direction.pow(2).sort(descending=True).values.cumsum(0)
    half = int((energy < energy[-1] / 2).sum()) + 1
    return {"negative_share": float((direction < 0).double().mean()), "half_energy_share": half / words}


def suppressed(head: Spectrum, words: list[str]) -> dict[str, list[str]]:
    """The tokens that the head's main direction lowers most, and those that it raises most."""
    order = _by_token(head, len(words)).argsort().tolist()
    return {
        "lowered": [words[i] for i in order[:SUPPRESSED]],
        "raised": [words[i] for i in order[: -SUPPRESSED - 1 : -1]],
    }


def kept_steps(run: Path) -> list[int]:
    """The steps whose weights a run kept; empty where it kept none."""
    from safetensors import safe_open

    steps: set[int] = set()
    for file in kept_files(run):
        with safe_open(file, framework="pt") as tensors:
            steps |= {int(name.split("/")[0]) for name in tensors.keys()}  # noqa: SIM118 - no mapping
    return sorted(steps)


def of_run(base: Path, run: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What one run changed in the weights: a row per step, and a summary of the end, from both manifests."""
    before, content = Stored.of_policy(base), read_json(run)
    result, steps = Stored.of_policy(run), [step for step in kept_steps(run) if step]
    last = Change(before, result)
    vocabulary = Tokenizer.from_file(str(Path(locate(run).location) / "tokenizer.json")).get_vocab()
    words = [word for word, _ in sorted(vocabulary.items(), key=lambda pair: pair[1])]
    rows = []
    for step in sorted({*steps, content["step"]}):
        change = last if step == content["step"] else Change(before, Stored(kept_files(run), f"{step}/"))
        shares = token_shares(change.spectra[change.head], len(words))
        rows.append({"step": step, **change.row(), **change.alignment(last), **shares})
    summary = {
        "head": "its own" if before.head == HEAD else "tied to the embedding",
        "parameters": sum(math.prod(before[name].shape) for name in before),
        "layers": {name: [s.rank_1_share, s.gap] for name, s in last.spectra.items()},
        "shares": last.shares(),
        "tokens": suppressed(last.spectra[last.head], words),
        "sketch": sketch(before, result),
    }
    return rows, summary
