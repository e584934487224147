"""reasoning-gym's own scores: the last box is given to `score_answer` of the library, and must have its full score.

A gold is an entry of the library as JSON: `question`, `answer` and `metadata`, which names its data set. `\\\\` in a
box is a line break. Only the characters of `ANSWERS` reach the library, which evaluates some answers as Python.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rlvr.verifiers import Judgement, VerifierError, VerifierKind, last_boxed
from rlvr.verifiers.memory import remembered

LIBRARY = "reasoning-gym"
PINNED = "0.1.25"  # envs/gym.txt and pyproject.toml have it too
MADE_BY = f"{LIBRARY} {PINNED}"
VERSION = f"1, {MADE_BY}"
ANSWERS = {
    "countdown": re.compile(r"[0-9+\-*/() ]+"),
    "mini_sudoku": re.compile(r"[0-9 \n]+"),
    "shortest_path": re.compile(r"[a-z ]+"),
}
REMEMBERED = 16 << 20  # bytes of boxes and their verdicts; rollouts of one problem repeat each other
LONGEST = 1000  # characters


def installed() -> str | None:
    """The version of reasoning-gym on this machine; None without it."""
    try:
        return version(LIBRARY)
    except PackageNotFoundError:
        return None


def check() -> None:
    """Raise VerifierError without the one version whose problems and scores are the stated ones."""
    if (found := installed()) != PINNED:
        has = "is not installed" if found is None else f"has version {found} here"
        what = "install it by `make install-gym`, or `pip install 'rlvr-reproduction[gym]'`"
        raise VerifierError(f"{LIBRARY} {PINNED} is needed, and {has}; {what}")


@lru_cache(maxsize=4096)  # a problem has many rollouts
def entry(gold: str) -> dict[str, Any]:
    """The entry that a gold is. Raises VerifierError for any other text."""
    try:
        found = json.loads(gold)
        if found["metadata"]["source_dataset"] in ANSWERS and isinstance(found["answer"], str):
            return found
    except (ValueError, KeyError, TypeError):
        pass
    what = f"an entry of {', '.join(ANSWERS)} as JSON"
    raise VerifierError(f"not a gold of the verifier `reasoning_gym`, {what}: {gold[:80]!r}")


def check_gold(gold: str) -> None:
    entry(gold)


def answer(gold: str) -> str:
    """The library's own answer as a response."""
    return "\\boxed{" + entry(gold)["answer"].replace("\n", " \\\\ ") + "}"


def itself(gold: str) -> str:
    """How the library scores its own answer."""
    return judge(answer(gold), gold)[0]


def judge(text: str, gold: str) -> Judgement:
    """`correct` for the full score, 1; anything below is `wrong`, also where the library gives a part of it."""
    extracted = last_boxed(text)
    return ("unparsable", None) if extracted is None else _judged(extracted, gold)


def quick(text: str, gold: str) -> Judgement | None:
    """The verdict, unless the answer has a power, whose value may be without bounds."""
    extracted = last_boxed(text)
    return None if extracted is not None and "**" in extracted.replace(" ", "") else judge(text, gold)


@remembered(REMEMBERED)
def _judged(extracted: str, gold: str) -> Judgement:
    asked = entry(gold)
    dataset = asked["metadata"]["source_dataset"]
    answer = "\n".join(" ".join(line.split()) for line in extracted.replace("\\\\", "\n").split("\n"))
    if len(answer) > LONGEST or not ANSWERS[dataset].fullmatch(answer):
        return "unparsable", extracted
    return ("correct" if _scores(dataset)(answer, asked) >= 1 else "wrong"), extracted


@lru_cache
def _scores(dataset: str) -> Callable[[str, dict[str, Any]], float]:
    check()
    import reasoning_gym

    return reasoning_gym.get_score_answer_fn(dataset)  # type: ignore[return-value]


def prepare() -> None:
    """Load the library, so that no judgement counts its import."""
    for dataset in ANSWERS:
        _scores(dataset)


VERIFIER = VerifierKind(
    judge=judge,
    quick=quick,
    version=VERSION,
    prepare=prepare,
    check=check,
    check_gold=check_gold,
    itself=itself,
    answer=answer,
    of_a_task=True,
)
