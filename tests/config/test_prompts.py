"""Prompts of models and papers: which template a model gets."""

from pathlib import Path

import pytest
from conftest import ROOT

from rlvr.config.layers import ConfigError
from rlvr.planning.expansion import make_plan
from rlvr.planning.papers import read_sources


@pytest.fixture
def config(tmp_path):
    import shutil

    shutil.copytree(ROOT / "config", tmp_path / "config")
    return tmp_path


def edited(root: Path, file: str, old: str, new: str) -> Path:
    path = root / "config" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return root


def test_models_have_the_text_of_the_prompt_that_they_name():
    models = read_sources(ROOT, "paper", ["ace"]).models
    assert models["qwen3-8b-base"].template.endswith("within \\boxed{}.\n")
    assert models["qwen2.5-math-7b"].template == models["qwen2.5-0.5b-instruct"].template
    assert models["llama-3.1-8b-instruct"].template.startswith("<|begin_of_text|>")


@pytest.mark.broad
def test_a_paper_may_name_another_prompt_and_its_stand_in_keeps_its_own(config):
    edited(
        config,
        "papers/ace/paper.yaml",
        "qwen2.5-math-7b:\n    settings",
        "qwen2.5-math-7b:\n    prompt: pacs\n    settings",
    )
    chosen = next(m for m in make_plan(config, "paper", ["ace"]).models.values() if m.name == "qwen2.5-math-7b")
    assert "You are a helpful assistant." in chosen.template
    for scale in ("gpu", "smoke"):
        assert set(make_plan(config, scale, ["ace"]).models) == set(make_plan(ROOT, scale, ["ace"]).models)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "models.yaml",
            "prompt: qwen3-plain",
            "prompt: qwen3-plane",
            r"config/models.yaml: qwen3-8b-base.prompt: unknown prompt 'qwen3-plane'; did you mean 'qwen3-plain'",
        ),
        (
            "papers/ace/paper.yaml",
            "qwen3-8b-base:\n",
            "qwen3-8b-base:\n    prompt: pax\n",
            r"config/papers/ace/paper.yaml: models.qwen3-8b-base.prompt: unknown prompt 'pax'; did you mean 'pacs'",
        ),
        (
            "models.yaml",
            "prompt: qwen3-plain",
            'prompt: qwen3-plain\n  template: "{problem}"',
            r"config/models.yaml: qwen3-8b-base.prompt: unknown key",
        ),
        ("prompts.yaml", "{problem}\\nPlease", "Please", r"prompts.yaml: qwen3-plain.*: the text lacks {problem}"),
    ],
)
def test_an_unknown_prompt_is_named(config, file, old, new, message):
    edited(config, file, old, new)
    for scale in ("paper", "gpu"):  # also where a stand-in would not use it
        with pytest.raises(ConfigError, match=message):
            make_plan(config, scale, ["ace"])
