"""Decision tokens are a task's own words, forking tokens the fifth with the highest entropy."""

from types import SimpleNamespace

import pytest
import torch
from conftest import ROOT

from rlvr.config.registries import TASKS
from rlvr.training import measures

OF_WORDS = [name for name, task in TASKS.all() if task.vocabulary]


def tokenizer_of(words: tuple[str, ...]) -> SimpleNamespace:
    vocabulary = {word: i for i, word in enumerate(words)}
    return SimpleNamespace(get_vocab=lambda: vocabulary)


def found(words: tuple[str, ...], response: list[str], entropy: list[float]) -> dict[str, float | None]:
    tokens = torch.tensor([[[words.index(word) for word in response]]])
    return measures.entropy(tokenizer_of(words), tokens, torch.tensor([[entropy]]), torch.ones_like(tokens).bool())


@pytest.mark.parametrize("name", OF_WORDS)
def test_a_tasks_decisions_before_its_answer_count_whatever_their_entropy(name):
    task = TASKS.load(name)
    decision = task.decisions[0]
    response = [decision, "<unk>", task.answer, decision]
    entropy = found(tuple(task.vocabulary), response, [0.5, 9.0, 9.0, 7.0])
    assert entropy == {"entropy": 6.375, "entropy_decision": 0.5, "entropy_forking": None}


@pytest.mark.parametrize("name", OF_WORDS)
def test_a_response_without_a_decision_has_neither_measure(name):
    task = TASKS.load(name)
    entropy = found(tuple(task.vocabulary), [task.answer, task.decisions[0]], [1.0, 2.0])
    assert entropy == {"entropy": 1.5, "entropy_decision": None, "entropy_forking": None}


def test_of_another_vocabulary_the_fifth_with_the_highest_entropy_counts():
    words = ("a", "b", "c", "d", "e")
    entropy = found(words, list(words), [0.25, 0.75, 0.25, 0.5, 0.25])
    assert entropy == {"entropy": pytest.approx(0.4), "entropy_decision": None, "entropy_forking": 0.75}


def test_the_page_says_which_tasks_have_decisions_of_their_own():
    page = (ROOT / "docs/training.md").read_text()
    paragraph = page[page.index("**Decision and forking tokens.**") :].partition("\n\n")[0]
    assert {name for name in TASKS.names() if f"`{name}`" in paragraph} == set(OF_WORDS)
