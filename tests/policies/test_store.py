"""A policy's folder and its manifest: where they are, and what its prompts become."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from rlvr.files import publish_json
from rlvr.policies import store


def test_a_manifest_behind_a_link_finds_a_policy_elsewhere(policy, tmp_path):
    sums = store.save(policy, tmp_path / "model")
    (tmp_path / "disk/a/b").mkdir(parents=True)
    (tmp_path / "results").symlink_to(tmp_path / "disk/a/b")
    manifest = tmp_path / "results/models/mine/manifest.json"
    publish_json(manifest, store.entries_of(manifest, tmp_path / "model", sums, policy.template))
    assert store.locate(manifest).location == str(tmp_path / "model")
    assert store.locate(manifest.resolve()).location == str(tmp_path / "model")


SCHEMES = {
    "llama 3": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "llama 2": pre_tokenizers.Metaspace(prepend_scheme="first"),
    "llama 2, legacy": pre_tokenizers.Metaspace(prepend_scheme="always"),
}


def with_special(scheme: str, single: str) -> PreTrainedTokenizerFast:
    """A tokenizer of bytes that puts special tokens around a text."""
    words = {word: i for i, word in enumerate(["<s>", "</s>", *pre_tokenizers.ByteLevel.alphabet(), "\u2581", "\n"])}
    made = Tokenizer(models.BPE(words, [], unk_token=None))
    made.pre_tokenizer, made.decoder = SCHEMES[scheme], decoders.ByteLevel()
    made.add_special_tokens(["<s>", "</s>"])
    made.post_processor = processors.TemplateProcessing(single=single, special_tokens=[("<s>", 0), ("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("single", ["<s> $A", "$A", "<s> $A </s>"])
@pytest.mark.parametrize("template", ["{problem}\n", "Q: {problem} A:", "<s>{problem}"])
def test_a_prompt_has_the_tokens_of_the_models_own_tokenizer(scheme, single, template):
    tokenizer = with_special(scheme, single)
    policy = store.Policy(None, tokenizer, store.with_bos(template, tokenizer))
    problems = ["What is 7 * 8?", "x", "two words"]
    for tokens, problem in zip(policy.encode(problems), problems, strict=True):
        plain = template.removeprefix("<s>").replace("{problem}", problem)
        own = [token for token in tokenizer(plain)["input_ids"] if token != tokenizer.eos_token_id]
        if template.startswith("<s>"):
            assert tokens.count(0) == 1 and tokens[0] == 0, "a written BOS stays the only one"
        else:
            assert tokens == own and tokens.count(0) == ("<s>" in single)
