"""Decision tokens: a task's own words, or the fifth of the tokens with the highest entropy."""

from types import SimpleNamespace

import pytest
import torch
from conftest import ROOT

from rlvr.config.registries import members
from rlvr.data import tasks
from rlvr.training.measures import decision_mask

OF_WORDS = [name for name in members("data/tasks") if tasks.vocabulary_of(tasks.load(name))]


def mask_of(words: tuple[str, ...], response: list[str], entropy: list[float]) -> list[bool]:
    vocabulary = {word: i for i, word in enumerate(words)}
    tokens = torch.tensor([[[vocabulary[word] for word in response]]])
    tokenizer = SimpleNamespace(get_vocab=lambda: vocabulary)
    return (
        decision_mask(tokenizer, tokens, torch.tensor([[entropy]]), torch.ones_like(tokens).bool()).flatten().tolist()
    )


@pytest.mark.parametrize("name", OF_WORDS)
def test_a_tasks_decisions_before_its_answer_count_whatever_their_entropy(name):
    task = tasks.load(name)
    decision = task.DECISIONS[0]
    assert mask_of(tuple(task.VOCABULARY), [decision, "<unk>", task.ANSWER, decision], [0.0, 9.0, 9.0, 9.0]) == [
        *(True, False, False, False)
    ]


def test_of_another_vocabulary_the_fifth_with_the_highest_entropy_counts():
    words = ("a", "b", "c", "d", "e")
    assert mask_of(words, list(words), [0.1, 0.9, 0.2, 0.3, 0.4]) == [False, True, False, False, False]


def test_the_page_says_which_tasks_have_decisions_of_their_own():
    page = (ROOT / "docs/training.md").read_text()
    paragraph = page[page.index("**Decision tokens**") :].partition("\n\n")[0]
    assert {name for name in members("data/tasks") if f"`{name}`" in paragraph} == set(OF_WORDS)
