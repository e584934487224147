"""The rules of workflow/english.py: each finds its phrase, passes the better wording, and reads prose only."""

import importlib.util

import pytest
from conftest import ROOT

SPEC = importlib.util.spec_from_file_location("english", ROOT / "workflow" / "english.py")
english = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(english)

# By rule: a sentence that fails, and a better one.
PLANTED = {
    "stands": ("The method stands where its pass@1 is GRPO's.", "The method is compared where its pass@1 is GRPO's."),
    "alone": ("Settings are chosen by GRPO alone.", "Settings are chosen only by GRPO."),
    "told from": ("It cannot be told from chance.", "It cannot be distinguished from chance."),
    "in place of": ("50 steps in place of 150.", "50 steps instead of 150."),
    "takes the place of": ("The box takes the place of the text.", "The box replaces the text."),
    "of which": ("Five runs, of which two failed.", "Five runs. Two of them failed."),
    "is had": ("A gain is had at k = 8.", "The method has a gain at k = 8."),
    "room": ("It uses what is in its room.", "It uses what is in its module."),
    "door": ("A shape is asserted at the door.", "A shape is asserted where data enters."),
    "house": ("The house has one style.", "The project has one style."),
    "a step": ("It draws 16 prompts a step.", "It draws 16 prompts per step."),
    "what that": ("It keeps what a run made that is needed.", "It keeps the needed files of a run."),
    "found": ("The found is below the claimed.", "Our gain is below the claimed one."),
}
FINE = (
    "A standard deviation; we understand it. The stand-in stands for Qwen, and qwen2-path stands in for it.",
    "The job ran alone on the machine; seeds differ by random seeds alone; the critic learns alone; standalone.",
    "The seconds a step takes. It reads a row. The run has room for one row, a room, and no outdoor scene.",
    "It tells the reader where numbers come from: the table. What it does is plain, and that is all.",
    "With AVX-512 a run took 8 minutes. Two are left out by `git log -- in place of`, and [here](docs/stands.md).",
)


def rules(text):
    return [rule.name for _, rule, _ in english.hits(text)]


def test_every_rule_has_a_planted_sentence():
    assert set(PLANTED) == {rule.name for rule in english.RULES}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_sentence_fails_and_the_better_one_passes(name):
    bad, good = PLANTED[name]
    assert rules(bad) == [name]
    assert rules(bad.replace(" ", "\n  ")) == [name], "broken lines"
    assert rules(good) == []


@pytest.mark.parametrize("text", FINE)
def test_plain_sentences_pass(text):
    assert rules(english.page_text(text)) == []


def test_a_page_is_read_without_its_code():
    code = "    sed in place of\n\n```\nby GRPO alone\n```\n\n`it stands` [a](stands.md) <!-- stands -->\n"
    matches = english.hits(english.page_text("It stands.\n\n" + code + "\nIt\nstood.\n"))
    assert [(line, words) for line, _, words in matches] == [(1, "stands"), (12, "stood")]


def test_of_code_comments_docstrings_and_raised_messages_are_read():
    code = '''"""It stands."""
NOTE = "By GRPO alone: committed results print this."
GPUS = 2  # as it knows what
FILES = 3  # there is that is kept; by it alone


def run(place):
    """Run `stands`.

    By GRPO
    alone.
    """
    # It takes the
    # place of another.
    if place:
        raise ValueError(f"{place}: used in place of {place}")
    return "stands"
'''
    matches = english.hits(english.code_text(code))
    assert [(line, words) for line, _, words in matches] == [
        (1, "stands"),
        (4, "alone"),
        (11, "alone"),
        (13, "takes the place of"),
        (16, "in place of"),
    ]


def test_a_hit_says_where_what_and_what_to_write(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("Fine.\n\nChosen by GRPO\nalone.\n")
    (line,) = english.check(page)
    assert line.startswith(f"{page}:4: 'alone': write 'only' before the noun, or 'without ...'; a restriction ")


def test_the_projects_text_passes():
    assert [line for path in english.files() for line in english.check(path)] == []


def test_nothing_is_outside_that_is_not_there():
    assert all((ROOT / name).exists() for name in (*english.OUTSIDE_YET, *english.RECORDS))
