"""Decision tokens are a task's own words, forking tokens the fifth with the highest entropy."""

from types import SimpleNamespace

import pytest
import torch
from conftest import ROOT

from rlvr.config.registries import TASKS
from rlvr.data import tasks
from rlvr.training import measures

OF_WORDS = [name for name, task in TASKS.all() if task.vocabulary]
WORDS = ("a", "b", "c", "d", "e")  # of a model that knows no task


def found(task: str, words: tuple[str, ...], response: list[str], entropy: list[float]) -> dict[str, float | None]:
    tokens = torch.tensor([[[words.index(word) for word in response]]])
    tokenizer = SimpleNamespace(get_vocab=lambda: {word: i for i, word in enumerate(words)})
    everywhere = torch.ones_like(tokens).bool()
    return measures.entropy(tasks.of_set(task), tokenizer, tokens, torch.tensor([[entropy]]), everywhere)


@pytest.mark.parametrize("name", OF_WORDS)
def test_a_tasks_decisions_before_its_answer_count_whatever_their_entropy(name):
    task = TASKS.load(name)
    decision = task.decisions[0]
    response = [decision, "<unk>", task.answer, decision]
    entropy = found(name, task.vocabulary, response, [0.5, 9.0, 9.0, 7.0])
    assert entropy == {"entropy": 6.375, "entropy_decision": 0.5, "entropy_forking": None}
    without = found(name, task.vocabulary, response[2:], [1.0, 2.0])
    assert without == {"entropy": 1.5, "entropy_decision": None, "entropy_forking": None}


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("published", tuple(TASKS.load("operator_chain").vocabulary)),  # the data set says it, not the vocabulary
        ("mixture", WORDS),
        ("word_problem", (*WORDS, *TASKS.load("word_problem").decisions, "\\boxed{")),  # natural language
        ("operator_chain", WORDS),  # words that the model's tokens are not
    ],
)
def test_of_other_problems_and_models_the_fifth_with_the_highest_entropy_counts(task, words):
    entropy = found(task, words, list(words[:5]), [0.25, 0.75, 0.25, 0.5, 0.25])
    assert entropy == {"entropy": pytest.approx(0.4), "entropy_decision": None, "entropy_forking": 0.75}


def test_the_page_says_which_tasks_have_decisions_of_their_own():
    page = (ROOT / "docs/training.md").read_text()
    paragraph = page[page.index("**Decision and forking tokens.**") :].partition("\n\n")[0]
    assert {name for name in TASKS.names() if f"`{name}`" in paragraph} == set(OF_WORDS)
