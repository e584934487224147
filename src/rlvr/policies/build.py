"""Stage: model. Makes a tiny model from scratch, checks a local one, or fetches a published one to the hub's cache."""

from pathlib import Path
from typing import Any

import torch
import transformers
import typer
from pydantic import TypeAdapter
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rlvr import provenance, stages
from rlvr.config.registries import constant
from rlvr.config.schema.names import LocalModel, Model, ScratchModel
from rlvr.data import tasks
from rlvr.files import publish_json, sha256
from rlvr.policies import hub
from rlvr.policies.store import Policy, publish_manifest, save

LONGEST = 128  # positions of a tiny model


def classes(architecture: str) -> tuple[Any, Any]:
    """The classes of configuration and model in transformers."""
    name = constant("policies/architectures", architecture, "CLASSES")
    return getattr(transformers, f"{name}Config"), getattr(transformers, f"{name}ForCausalLM")


def scratch_policy(spec: ScratchModel) -> Policy:
    """A randomly initialised transformers model of the family, with the tokenizer of its task."""
    vocabulary = tasks.load(spec.task).VOCABULARY
    config_class, model_class = classes(spec.architecture)
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>", unk_token="<unk>"
    )
    config = config_class(
        vocab_size=len(vocabulary),
        hidden_size=spec.hidden_size,
        num_hidden_layers=spec.layers,
        num_attention_heads=spec.heads,
        num_key_value_heads=spec.kv_heads,
        head_dim=spec.hidden_size // spec.heads,
        intermediate_size=spec.intermediate_size,
        tie_word_embeddings=spec.tie_embeddings,
        max_position_embeddings=LONGEST,
        initializer_range=spec.init_std,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(spec.init_seed)  # transformers initialises from the global generator only
        model = model_class(config)
    return Policy(model, tokenizer, "<bos> {problem}")


def main(spec: stages.Spec, out: stages.Manifest, source: stages.Source = "") -> None:
    """Make one model."""
    origin = provenance.collect()
    model = TypeAdapter(Model).validate_json(spec.read_bytes())
    if isinstance(model, ScratchModel):
        policy = scratch_policy(model)
        folder = out.parent / "policy"
        parameters = sum(p.numel() for p in policy.model.parameters())
        sums = save(policy, folder)
        entries = {"parameters": parameters, "provenance": provenance.at_once(origin)}
        publish_manifest(out, folder, sums, policy.template, **entries)
    elif isinstance(model, LocalModel):
        folder = Path(source).resolve()
        for name, expected in model.files.items():
            if not (folder / name).is_file() or sha256(folder / name) != expected:
                raise SystemExit(f"{folder / name}: changed since this run was planned; give the same command again")
        publish_manifest(out, folder, model.files, model.template, provenance=provenance.at_once(origin))
    else:
        if not model.pinned:  # a branch changes, and no identity would show it
            raise SystemExit(
                f"config/models.yaml: {model.name}.revision: {model.revision!r} of {model.repo} is a branch; "
                f"run `rlvr models resolve {model.name}`, which writes its commit to config/revisions.yaml"
            )
        try:
            snapshot = hub.fetch(model)
        except hub.HubError as error:
            raise SystemExit(str(error)) from error
        hub_source = {"repo": model.repo, "commit": model.revision, "dtype": model.dtype}
        entries = {"hub": hub_source, "snapshot": snapshot, "template": model.template}
        publish_json(out, {**entries, "provenance": provenance.at_once(origin)})


if __name__ == "__main__":
    typer.run(main)
