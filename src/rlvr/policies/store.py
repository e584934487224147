"""A policy on disk: a folder that `AutoModelForCausalLM.from_pretrained` loads, and a manifest with its checksums."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlvr.files import RecordError, publish_json, read_json, sha256, whole
from rlvr.records import PicturesUnread

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

    from rlvr.policies.pictures import Pictures

EMBEDDING, HEAD = "model.embed_tokens.weight", "lm_head.weight"  # transformers' names, in all families of text
KEPT = "weights.safetensors"  # beside a run's manifest: the weights of its probed steps, if it keeps them
KEPT_OF_STEP = "weights-step{:06d}.safetensors"  # instead of this file, one for each step


def last_layers(names: Iterable[str], layers: int) -> list[str]:
    """Of a model's weights those in its last layers, at most half of all, and behind them: the norm and the head."""
    names = list(names)
    number = {name: int(name.split(".")[2]) for name in names if name.startswith("model.layers.")}
    count = max(number.values()) + 1
    first = count - min(layers, max(1, count // 2))
    return [name for name in names if number.get(name, -1) >= first or name in ("model.norm.weight", HEAD)]


@dataclass
class Policy:
    """A model, its tokenizer, and the template that wraps a problem into a prompt.

    Model and tokenizer are transformers', or those of the native engine, which have the part of their interface that
    training and sampling use (`rlvr.policies.native`).
    """

    model: Any
    tokenizer: Any
    template: str

    @property
    def eos(self) -> int:
        return int(self.tokenizer.eos_token_id)

    @property
    def pad(self) -> int:
        pad = self.tokenizer.pad_token_id
        return self.eos if pad is None else int(pad)

    @property
    def pictures(self) -> Pictures | None:
        """The pictures that the model has met; None if it sees none."""
        return getattr(self.model, "pictures", None)

    def encode(self, problems: list[str], images: Sequence[tuple[str, ...]] = ()) -> list[list[int]]:
        """The prompts' tokens, with those of pictures' places (`rlvr.policies.pictures`); `images`: paths per problem.

        Raises PicturesUnread for a picture if the model sees none.
        """
        if any(images):
            return self._encode_with_pictures(problems, images)
        texts = [self.template.replace("{problem}", problem) for problem in problems]
        return self.tokenizer(texts, add_special_tokens=False)["input_ids"]

    def _encode_with_pictures(self, problems: list[str], images: Sequence[tuple[str, ...]]) -> list[list[int]]:
        from rlvr.policies.pictures import in_place

        pictures = self.pictures
        if pictures is None:
            first = next(path for paths in images for path in paths)
            raise PicturesUnread(
                f"{sum(map(bool, images))} problems have pictures ({first} is the first), and this policy reads texts"
            )
        marked = [in_place(problem, len(paths)) for problem, paths in zip(problems, images, strict=True)]
        encoded = []
        for tokens, paths in zip(self.encode(marked), images, strict=True):
            places = iter([pictures.see(Path(path)) for path in paths])
            encoded.append([t for token in tokens for t in (next(places) if token == pictures.place else [token])])
        return encoded

    def decode(self, tokens: list[list[int]] | list[np.ndarray]) -> list[str]:
        """Texts of tokens; arrays are faster, since transformers checks the type of each token in a list."""
        return self.tokenizer.batch_decode(tokens, skip_special_tokens=True)


def share_pictures(policy: Policy, reference: Policy) -> None:
    """Give the reference the policy's pictures: the same tokens then mean the same places to both."""
    if policy.pictures is not None:
        reference.model.pictures = policy.pictures


def save(policy: Policy, folder: Path) -> dict[str, str]:
    """Checksums of the files of a policy, written into a new folder that is renamed into place when complete."""
    with whole(folder) as partial:
        policy.model.save_pretrained(partial)
        policy.tokenizer.save_pretrained(partial)
        if policy.pictures is not None:
            policy.pictures.processor.save_pretrained(partial)
        sums = {file.name: sha256(file) for file in sorted(partial.iterdir())}
    return sums


def save_kept(path: Path, kept: dict[int, dict[str, torch.Tensor]]) -> None:
    """Publish the weights of a run's probed steps, in one file of tensors `<step>/<name>`."""
    from safetensors.torch import save_file

    tensors = {f"{step}/{name}": tensor for step, state in kept.items() for name, tensor in state.items()}
    with whole(path) as partial:
        save_file(tensors, partial)


def kept_files(manifest: Path) -> list[Path]:
    """The files with the weights of a run's probed steps; none where it keeps none."""
    return sorted(manifest.parent.glob("weights*.safetensors"))


def saved_beside(manifest: Path, policy: Policy) -> dict[str, Any]:
    """The entries of a manifest for a policy that this saves into a folder beside it."""
    folder = manifest.parent / "policy"
    sums = save(policy, folder)
    parameters = sum(p.numel() for p in policy.model.parameters())
    return {**entries_of(manifest, folder, sums, policy.template), "parameters": parameters}


def entries_of(manifest: Path, folder: Path, sums: dict[str, str], template: str) -> dict[str, Any]:
    """The manifest's entries for a policy's folder: its relative path, its files' checksums, the weights' precision.

    The path is between the real places: behind a symlink, such as `results` on a scratch disk, .. is another folder.
    """
    relative = os.path.relpath(folder.resolve(), manifest.parent.resolve())
    return {"policy": relative, "dtype": stored_dtype(folder), "files": sums, "template": template}


def publish_manifest(path: Path, folder: Path, sums: dict[str, str], template: str, **more: Any) -> None:
    """Publish a policy's manifest with further entries."""
    publish_json(path, {**entries_of(path, folder, sums, template), **more})


def stored_dtype(folder: Path) -> str:
    """The precision of the weights in a policy's folder: bfloat16 if all are, else float32."""
    from safetensors import safe_open

    dtypes = set()
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, framework="numpy") as tensors:
            dtypes |= {tensors.get_slice(name).get_dtype() for name in tensors.keys()}  # noqa: SIM118 - no mapping
    if not dtypes:
        raise RecordError(f"{folder}: no weights in *.safetensors")
    return "bfloat16" if dtypes == {"BF16"} else "float32"


@dataclass(frozen=True)
class Location:
    """The folder of a policy's model and tokenizer."""

    location: str
    dtype: str
    template: str


def locate(manifest: Path) -> Location:
    """The location in a manifest. Raises RecordError if a file is missing or damaged.

    For a model of the hub, processes started later ask the hub for nothing.
    """
    content = read_json(manifest)
    if "hub" in content:
        from rlvr.policies.hub import cached

        hub = content["hub"]
        for name, there in (("commit", hub), ("snapshot", content)):
            if name not in there:
                raise RecordError(f"{manifest}: names no {name} of {hub['repo']}; delete it to make it again")
        snapshot = cached(hub["repo"], hub["commit"], content["snapshot"])
        if snapshot is None:
            raise RecordError(
                f"{hub['repo']} at {hub['commit']} is no longer whole in the hub's cache "
                f"({content['snapshot']['folder']}); delete {manifest} to fetch it again"
            )
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # for the processes of engines and trainers
        return Location(str(snapshot), hub["dtype"], content["template"])
    folder = (manifest.parent / content["policy"]).resolve()
    for name, expected in content["files"].items():
        if not (folder / name).is_file() or sha256(folder / name) != expected:
            raise RecordError(f"{folder / name} is missing or damaged; delete {manifest} to make it again")
    return Location(str(folder), content.get("dtype") or stored_dtype(folder), content["template"])


def load(manifest: Path, *, device: str | torch.device = "cpu", dtype: torch.dtype | None = None) -> Policy:
    """The policy that a manifest names, in its own precision or another. Raises RecordError like `locate`."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.utils import logging

    logging.disable_progress_bar()  # of loading weights
    place = locate(manifest)
    tokenizer = load_tokenizer(place.location)
    dtype = dtype or getattr(torch, place.dtype)
    pictured = sees(place.location)
    auto = AutoModelForImageTextToText if pictured else AutoModelForCausalLM
    model: Any = auto.from_pretrained(place.location, dtype=dtype)
    model.to(device)
    if pictured:
        model.pictures = load_pictures(place.location, model.config)
    return Policy(model, tokenizer, place.template)


def sees(location: str) -> bool:
    """Whether a model's prompts may have pictures, by its configuration."""
    from transformers import AutoConfig

    return hasattr(AutoConfig.from_pretrained(location), "vision_config")


def encoder(place: Location) -> Policy:
    """A policy without weights, which encodes prompts as the one at this place would, and decodes responses."""
    from types import SimpleNamespace

    from transformers import AutoConfig

    model = SimpleNamespace()
    if sees(place.location):
        config = AutoConfig.from_pretrained(place.location)
        model.pictures = load_pictures(place.location, config)
    return Policy(model, load_tokenizer(place.location), place.template)


def load_pictures(location: str, config: Any) -> Pictures:
    """No picture yet, and the saved image processor, only with Pillow and numpy."""
    from rlvr.policies.pictures import Pictures

    return Pictures(load_image_processor(location), config)


def load_image_processor(location: str) -> Any:
    from transformers import AutoImageProcessor

    return AutoImageProcessor.from_pretrained(location, backend="pil")


def load_tokenizer(location: str) -> PreTrainedTokenizerBase:
    """The saved tokenizer.

    transformers 5 takes the class declared beside a Qwen2 model for a mistake and builds a byte-level BPE from
    the vocabulary instead. So a tokenizer that declares the general class is loaded with that class.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast
    from transformers.models.auto.tokenization_auto import get_tokenizer_config

    if get_tokenizer_config(location).get("tokenizer_class") == "TokenizersBackend":
        return PreTrainedTokenizerFast.from_pretrained(location)
    return AutoTokenizer.from_pretrained(location)


def with_bos(template: str, tokenizer: Any) -> str:
    """The template behind the BOS that the tokenizer itself puts before a plain text, if it does.

    Prompts are encoded as the template is written, so this gives the tokens of `tokenizer(prompt)`. A tokenizer that
    marks the first word by a space, as Llama 2's, needs one behind a written BOS. Raises ValueError if neither works.
    """
    bos, text = tokenizer.bos_token, template.replace("{problem}", "What is 2 + 3?")
    wanted = tokenizer(text)["input_ids"]
    if bos is None or text.startswith(bos) or wanted[:1] != [tokenizer.bos_token_id]:
        return template
    wanted = wanted[: len(wanted) - (wanted[-1] == tokenizer.eos_token_id)]  # an answer follows
    for between in ("", " "):
        if tokenizer(f"{bos}{between}{text}", add_special_tokens=False)["input_ids"] == wanted:
            return f"{bos}{between}{template}"
    raise ValueError(f"the tokenizer begins a text with {bos}, and no written one gives the same tokens")


def device() -> torch.device:
    """The device that `execution.device` names, which rules pass on as RLVR_DEVICE; without it the GPU if there is one.

    Ends the process where a GPU is asked for and torch finds none: a run that falls back to the CPU would take weeks.
    """
    import torch

    asked = os.environ.get("RLVR_DEVICE")
    if asked == "cpu" or (asked is None and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        built = f"CUDA {torch.version.cuda}" if torch.version.cuda else "the CPU alone"
        raise SystemExit(
            f"execution.device: {asked}, but torch finds no GPU here (torch {torch.__version__}, built for {built}); "
            "nvidia-smi must list one, with a driver new enough for this CUDA"
        )
    return torch.device("cuda")
