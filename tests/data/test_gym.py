"""Sets of reasoning-gym's problems: functions of seed and index, of one version, and in the library's own words."""

import json

import numpy as np
import pytest
from conftest import ROOT
from pydantic import ValidationError
from support.gym import GYM_TASKS, needs_gym

from rlvr.config.identity import data_id
from rlvr.config.load import read_data
from rlvr.config.registries import TASKS
from rlvr.config.schema.models_and_data import Synthetic
from rlvr.data import prepare, similarity
from rlvr.data.rows import DataError
from rlvr.records import Demonstration, Problem, read_records
from rlvr.verifiers import reasoning_gym

SETS = {n: d for n, d in read_data(ROOT / "config", ROOT).items() if isinstance(d, Synthetic) and d.task in GYM_TASKS}
every_task = pytest.mark.parametrize("name", GYM_TASKS)


def first(task: str, **changes) -> Synthetic:
    data = next(data for data in SETS.values() if data.task == task and data.lookup is not None)
    return data.model_copy(update={"problems": 12, "lookup": None, **changes})


def made(data: Synthetic, out) -> list[Problem]:
    out.mkdir()
    prepare.make(data, out)
    return read_records(out / "problems.jsonl", Problem)


@needs_gym
@every_task
def test_a_set_is_a_function_of_its_entry_and_each_problem_one_of_seed_and_index(name, tmp_path):
    import reasoning_gym as library

    problems = made(first(name), tmp_path / "one")
    assert problems == made(first(name), tmp_path / "two") and len(problems) == 12
    assert problems != made(first(name, seed=5), tmp_path / "other")
    assert problems[:4] != made(first(name, part="train"), tmp_path / "train")[:4]
    for problem in problems:  # the stored entry is what the library makes again from its own words for the difficulty
        entry = json.loads(problem.gold)
        score = library.get_score_answer_fn(entry["metadata"]["source_dataset"])
        assert score(entry["answer"], entry) == 1


@needs_gym
@every_task
def test_questions_are_the_librarys_and_chances_are_read_from_them_too(name, tmp_path):
    task = TASKS.load(name)
    words, questions = made(first(name), tmp_path / "words"), made(first(name, question=True), tmp_path / "questions")
    assert data_id(first(name)) != data_id(first(name, question=True))
    for short, long in zip(words, questions, strict=True):
        assert (short.id, short.gold, short.level) == (long.id, long.gold, long.level)
        assert long.prompt == json.loads(long.gold)["question"].strip() != short.prompt
        assert task.chance(long.prompt) == task.chance(short.prompt) > 0


@needs_gym
@every_task
def test_parts_do_not_overlap_and_a_lookup_is_counted(name, tmp_path):
    sets = [d for d in SETS.values() if d.task == name and not d.question and not d.name.endswith("-smoke")]
    texts = {}
    for data in sets:
        known = data.lookup and data.lookup.model_copy(update={"problems": 60})
        data = data.model_copy(update={"problems": 24, "demonstrations": None, "lookup": known})
        problems = made(data, tmp_path / data.name)
        assert len(problems) == data.problems
        assert all(one.lookup >= 0 for one in problems) == (data.lookup is not None)
        texts[data.name] = data.part, similarity.texts(tmp_path / data.name / "problems.jsonl")
    assert {part for part, _ in texts.values()} == set(TASKS.load(name).parts)
    for part, own in texts.values():
        for other_part, other in texts.values():
            if part != other_part:
                assert not similarity.equal(own, other)


@needs_gym
@every_task
def test_demonstrations_without_guesses_have_the_librarys_full_score(name, tmp_path):
    data = first(name, part="sft", demonstrations=60, random_share=0.0)
    golds = {problem.id: problem.gold for problem in made(data, tmp_path / "sft")}
    for shown in read_records(tmp_path / "sft" / "demonstrations.jsonl", Demonstration):
        assert reasoning_gym.judge(shown.response, golds[shown.id])[0] == "correct"


@every_task
def test_the_librarys_version_is_in_the_identity_and_another_is_an_error(name):
    data = first(name)
    assert data.library == reasoning_gym.MADE_BY == "reasoning-gym 0.1.25"
    assert data_id(data) != data_id(data.model_copy(update={"library": "reasoning-gym 0.1.24"}))
    assert Synthetic.model_validate(data.model_dump()) == data
    with pytest.raises(ValidationError, match=r"is made by reasoning-gym 0\.1\.25 \(got reasoning-gym 0\.1\.24\)"):
        Synthetic.model_validate({**data.model_dump(), "library": "reasoning-gym 0.1.24"})
    chain = read_data(ROOT / "config", ROOT)["chain-train"]
    assert isinstance(chain, Synthetic) and chain.library is None
    with pytest.raises(ValidationError, match="question: operator_chain has no other words"):
        Synthetic.model_validate({**chain.model_dump(), "question": True})


@every_task
def test_without_the_library_a_set_says_how_to_install_it(name, monkeypatch, tmp_path):
    monkeypatch.setattr(reasoning_gym, "PINNED", "0.0.0")  # a version that no machine has
    with pytest.raises(DataError, match="install it by `make install-gym`"):
        prepare.make(first(name), tmp_path)
    with pytest.raises(DataError, match=r"reasoning-gym 0\.0\.0 is needed"):
        TASKS.load(name).generate_problems("train", [2], 1, None, np.random.default_rng(0))
