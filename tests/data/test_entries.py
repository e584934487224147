"""The entries of config/datasets.yaml: what they name, their identities, mistakes in them."""

import pytest
from conftest import ROOT
from support.published_sets import SETS

from rlvr.config.identity import data_id
from rlvr.config.load import ConfigError, named_entries, read_data, read_yaml
from rlvr.config.schema.models_and_data import ADAPTERS, Prompt
from rlvr.data import published
from rlvr.planning.expansion import make_plan


def test_every_entry_names_an_adapter_a_licence_its_papers_and_their_prompts():
    prompts = named_entries(Prompt, read_yaml(ROOT / "config" / "prompts.yaml", ROOT))
    for name, data in SETS.items():
        assert data.about.papers, name
        assert data.about.licence not in ("", "not stated"), name
        assert published.fields_of(data)
        for paper, prompt in data.about.papers.items():
            assert paper in ("ace", "fade", "lens", "agrae", "pacs")
            assert prompt in prompts or prompt.startswith("not "), (name, prompt)
    assert set(ADAPTERS.names()) == {data.adapter for data in SETS.values()}


def test_the_sets_of_a_paper_file_say_that_the_paper_uses_them():
    for path in (ROOT / "config" / "papers").glob("*/paper.yaml"):
        paper = read_yaml(path, ROOT).content
        named = [paper.get("data"), paper.get("validation_data"), *paper.get("benchmarks", [])]
        for name in set(named) & set(SETS):
            assert paper["name"] in SETS[name].about.papers or paper["name"] == "methods"


def test_what_is_pinned_is_a_commit_and_only_these_are_not():
    assert {name for name, data in SETS.items() if not data.pinned} == {
        *("math-vision", "math-verse", "omnimed-mri", "omnimed-ct", "omnimed-xray")
    }
    for data in SETS.values():
        assert all(len(original.revision) == 40 for original in data.originals.values())


def test_a_published_set_states_how_many_problems_it_has_or_that_nothing_says_so():
    for name, data in SETS.items():
        assert data.most is not None or data.about.distinct == "not found", name
    assert (SETS["dapo-math-17k-raw"].most, SETS["math-test"].most) == (17398, 5000)
    assert (SETS["livecodebench-v6-fade"].most, SETS["omnimed-mri"].most) == (454, None)


def test_identities_of_the_embedded_sets_and_models_are_what_they_were():
    """What was made with them stays valid. Facts about a set are in no identity."""
    plan = make_plan(ROOT, "laptop", ["ace", "agrae", "pacs"])
    assert set(plan.data) >= {
        "chain-easy-ccab8edc75",
        "chain-hard-adf0f979bb",
        "chain-sft-f47e2e0ff0",
        "chain-train-9fa536f587",
        "chain-validation-b01503098b",
    }
    assert set(plan.models) >= {"llama-chain-c7b65dccfe", "qwen2-chain-e0f353f280", "qwen3-chain-e4e26f9b15"}
    published_models = {"qwen2.5-math-7b-18d59814bd", "qwen3-8b-base-a22f5fc6c5", "llama-3.1-8b-instruct-b77011fe34"}
    assert set(make_plan(ROOT, "paper", ["ace"]).models) == published_models
    spec = SETS["aime-2024"]
    about = spec.about.model_copy(update={"licence": "another", "defects": "another", "distinct": 29})
    assert data_id(spec.model_copy(update={"about": about})) == data_id(spec)
    assert data_id(spec.model_copy(update={"revision": "main"})) != data_id(spec)
    assert data_id(spec.model_copy(update={"since": "2024-01-01"})) != data_id(spec)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("adapter: gpqa", "adapter: gpqq", r"config/datasets.yaml: gpqa-diamond.adapter: .*did you mean 'gpqa'"),
        ("part: easy", "part: easi", r"operators-easy.part: operator_fill has no 'easi'; did you mean 'easy'"),
        ("levels: [4, 5]", "levels: [4, 8]", r"operators-train-harder.levels: operator_fill has no 8; valid: 2, 3"),
        ("shuffle_seed:", "shufle_seed:", r"gpqa-diamond.shufle_seed: unknown key; did you mean 'shuffle_seed'"),
        ('since: "2024-08-01"', 'since: "2024-08-32"', r"livecodebench-v6-fade.since: "),
        ("licence: not declared; a part of", "license: x", r"about.license: unknown key; did you mean"),
        # mixtures that ask for more than there is
        (
            "{set: dapo-math-17k}]",
            "{set: dapo-math-17k, problems: 17500}]",
            r"^config/datasets.yaml: math-dapo.shares.1: 17500 problems are more than the 17398 different ones of dapo",
        ),
        (
            "{set: numina-math-1.5, problems: 17398}",
            "{set: dapo-math-17k-raw, skip: 128, problems: 17398}",
            r"math-numina.shares.1: 17526 problems are more than the 17398 different ones of dapo-math-17k-raw$",
        ),
        (
            "problems: 24398\n",
            "problems: 30000\n",
            r"math-dapo.problems: 30000 are planned, .* have 24389;",
        ),
        # other mistakes in mixtures
        (
            "{set: math-train, pro",
            "{set: math-trian, pro",
            r"math-held-out.*unknown .* 'math-trian'; .*'math-train'",
        ),
        ("{set: math-train, pro", "{set: math-rest, pro", r"math-held-out.shares.0.set: unknown data set 'math-rest'"),
        ("{set: math-train, pro", "{set: math-train, skp: 1, pro", r"math-held-out.shares.0.skp: unknown key; did you"),
    ],
)
def test_a_mistake_in_an_entry_is_named(tmp_path, old, new, message):
    text = (ROOT / "config" / "datasets.yaml").read_text()
    assert old in text
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "datasets.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        read_data(tmp_path / "config", tmp_path)
