"""SFT on reasoning: two published sets, mixed with their demonstrations, down to the tokens of the examples."""

from types import SimpleNamespace

import pytest
from conftest import ROOT
from support.published_sets import DATA, SETS, lines, parquet
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from rlvr.config.schema.models_and_data import Mixture
from rlvr.data import prepare
from rlvr.planning.papers import read_sources
from rlvr.records import Demonstration, Problem, read_records
from rlvr.training.backends.verl import data, sft_data
from rlvr.training.inputs import continued
from rlvr.training.sft import encode, within

THOUGHTS = {
    "T0": "<think>\nadd\n</think>\n\n```python\nprint(1)\n```",
    "M0": "<think>\nhalve\n</think>\n\nIt is \\boxed{2}.",
}


@pytest.fixture
def mixed(tmp_path, monkeypatch):
    """The set `fade-sft` of two problems of code and two of mathematics."""
    monkeypatch.chdir(tmp_path)
    parquet(tmp_path / "data/taco-train/train-0.parquet", [{"question": "T0"}, {"question": "T1"}])
    for name in ("code-contests-train", "code-contests-valid"):
        lines(tmp_path / "data" / name / "x.jsonl", [{"description": "C0"}])
    for name in ("apps-train", "apps-test"):
        lines(tmp_path / "data" / name / "x.jsonl", [{"question": "A0"}])
    code = {"question": "-", "dataset": "taco", "split": "train", "judgement": "right", "difficulty": "EASY"}
    answers = (THOUGHTS["T0"], "<think>\n" + 99 * "long " + "\n</think>\nnone")
    rows = [{**code, "index": str(i), "r1_generation": text} for i, text in enumerate(answers)]
    parquet(tmp_path / "data/open-code-reasoning-2/r.parquet", rows)
    maths = {"problem_type": "has_answer_extracted", "generated_solution": THOUGHTS["M0"], "expected_answer": "2"}
    maths["generation_model"] = "DeepSeek-R1"
    parquet(tmp_path / "data/open-math-reasoning/c.parquet", [{**maths, "problem": name} for name in ("M0", "M1")])
    spec = DATA["fade-sft"]
    first, second = spec.shares
    spec = spec.model_copy(update={"shares": [first, second.model_copy(update={"problems": 1})]})
    return spec, prepare.make(spec, tmp_path / "out"), tmp_path / "out"


def test_a_mixture_takes_demonstrations_along(mixed):
    spec, card, out = mixed
    shown, problems = (
        read_records(out / f"{name}.jsonl", kind)
        for name, kind in (("demonstrations", Demonstration), ("problems", Problem))
    )
    assert card["shares"] == {"open-code-reasoning-2": 2, "open-math-reasoning": 1} and card["demonstrations"] == 3
    assert [d.id for d in shown] == [p.id for p in problems] and {d.prompt for d in shown} >= {"T0", "T1"}
    assert spec.verifier == "math" and {p.gold for p in problems} == {"", "2"} and card["golds"]["correct"] == 1
    assert {d.response for d in shown} >= set(THOUGHTS.values())


def test_sets_with_golds_of_two_verifiers_are_no_mixture():
    shares = [{"data": SETS[name]} for name in ("taco-train", "math-train")]
    with pytest.raises(ValueError, match="same verifier"):
        Mixture(name="both", task="mixture", shares=shares, seed=0)


def by_bytes() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    model = Tokenizer(models.BPE({letter: i for i, letter in enumerate([*alphabet, "<eos>", "<pad>"])}, []))
    model.pre_tokenizer, model.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=model, eos_token="<eos>", pad_token="<pad>")


def test_down_to_the_tokens_with_one_mark_and_without_what_is_too_long(mixed, tmp_path, capsys):
    template = read_sources(ROOT, "paper", ["fade"]).models["qwen2.5-7b"].template
    shown = read_records(mixed[2] / "demonstrations.jsonl", Demonstration)
    data.write_demonstrations(tmp_path / "train.parquet", shown, template)
    tokenizer, limit = by_bytes(), SimpleNamespace(max_length=400)
    examples = sft_data.Demonstrations(str(tmp_path / "train.parquet"), tokenizer, limit)
    assert (len(examples), examples.left_out) == (2, 1)
    assert "1 of 3 demonstrations have more than 400 tokens" in capsys.readouterr().out
    asked = template.index("Think between")
    for example in examples:
        text = tokenizer.decode(example["input_ids"])
        learned = tokenizer.decode(example["input_ids"][example["loss_mask"].bool()])
        assert text[asked:].count("<think>\n") == 1 and not learned.startswith("<think>")
        assert learned.startswith(("add\n</think>", "halve\n</think>")) and learned.endswith("<eos>")
        assert f"<think>\n{learned}" in text
    with pytest.raises(ValueError, match="no demonstration has at most"):
        sft_data.Demonstrations(str(tmp_path / "train.parquet"), tokenizer, SimpleNamespace(max_length=3))


def test_in_process_the_limit_and_the_mark_are_the_same(policy, capsys):
    shown = [Demonstration(str(i), "1 2", "<think> " + n * "1 ") for i, n in enumerate((3, 9))]
    groups = encode(policy, shown)
    assert within(groups, None) is groups and within(groups, 1000) is groups
    assert len(within(groups, int(groups.prompt_lengths_P[0]) + 8).lengths_PG) == 1
    assert "1 of 2 demonstrations" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"at most sft\.max_tokens = 2"):
        within(groups, 2)


@pytest.mark.parametrize(
    ("template", "response", "expected"),
    [
        ("{problem}<think>\n", "<think>\na </think> b", "a </think> b"),
        ("{problem}<think>\n", "a </think> b", "a </think> b"),
        ("{problem}\n", "<think>\na </think> b", "<think>\na </think> b"),
    ],
)
def test_a_mark_that_the_prompt_opens_is_not_repeated(template, response, expected):
    assert continued(template, response) == expected
