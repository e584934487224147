"""Prompts of models and papers: which template a model gets."""

import pytest
from conftest import ROOT
from support.own_config import copied, edit

from rlvr.planning.expansion import make_plan
from rlvr.planning.papers import read_sources


def test_models_have_the_text_of_the_prompt_that_they_name():
    models = read_sources(ROOT, "paper", ["ace"]).models
    assert models["qwen3-8b-base"].template.endswith("within \\boxed{}.\n")
    assert models["qwen2.5-math-7b"].template == models["qwen2.5-0.5b-instruct"].template
    assert models["llama-3.1-8b-instruct"].template.startswith("<|begin_of_text|>")


@pytest.mark.broad
def test_a_paper_may_name_another_prompt_and_its_stand_in_keeps_its_own(tmp_path):
    config, before = copied(tmp_path), "qwen2.5-math-7b:\n    "
    edit(config, "papers/ace/paper.yaml", f"{before}settings", f"{before}prompt: pacs\n    settings")
    chosen = next(m for m in make_plan(config, "paper", ["ace"]).models.values() if m.name == "qwen2.5-math-7b")
    assert "You are a helpful assistant." in chosen.template
    for scale in ("gpu", "smoke"):
        assert set(make_plan(config, scale, ["ace"]).models) == set(make_plan(ROOT, scale, ["ace"]).models)
