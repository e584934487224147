"""docs/upstream: each listed verdict is the installed library's."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

from rlvr.verifiers.math_verify import LIBRARIES, VERSION

PAGE = ROOT / "docs" / "upstream" / "math-verify.md"
ROW = re.compile(r"^\| `(.+?)` \| `(.+?)` \| (True|False) \| (True|False) \|$")


def rows() -> list[tuple[str, str, bool, str]]:
    """Gold, answer or response, whether it is a whole response, and the verdict."""
    found, response = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("| gold |"):
            response = line.split("|")[2].strip() == "response"
        elif match := ROW.match(line):
            gold, answer, verdict, expected = match.groups()
            assert verdict != expected, f"{line}: no surprise"
            found.append((gold, answer, response, verdict))
    return found


ROWS = rows()


def test_every_row_of_the_page_is_read():
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(ROWS) == len(lines) == len({row[:2] for row in ROWS}) > 30


def test_the_page_names_the_installed_versions():
    text = PAGE.read_text(encoding="utf-8")
    for name in LIBRARIES:
        version = re.search(rf"{name} ([\d.]+)", VERSION)
        assert version and f"{name} {version[1]} " in text, "other versions: run the list again, and change the page"


@pytest.mark.parametrize(("gold", "answer", "response", "verdict"), ROWS)
def test_a_listed_verdict_is_the_librarys(gold, answer, response, verdict):
    from math_verify import parse, verify

    said = verify(parse(f"\\boxed{{{gold}}}"), parse(answer if response else f"\\boxed{{{answer}}}"))
    assert str(bool(said)) == verdict


def test_the_listed_exception_is_raised():
    from math_verify import parse, verify

    with pytest.raises(KeyError, match="Unequality"):
        verify(parse("$x \\neq 4$"), parse("$x \\neq 3$"), raise_on_error=True)
