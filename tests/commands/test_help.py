"""The help of every command: all of its brackets, paragraphs that fill their lines, and a whole example."""

import inspect
import re
import shlex
from itertools import pairwise
from typing import Any, get_type_hints

import pytest
import typer
from conftest import commands_of
from typer.testing import CliRunner

from rlvr.commands import GROUPS, app
from rlvr.commands.weigh import EPILOG

WHOLE = typer.main.get_command(app)
BRACKETED = re.compile(r"\[[^\[\]]*\]")
SUBCOMMANDS = {"data", "state"}  # each of their commands has an example


COMMANDS = dict(commands_of(WHOLE))


def shown(words: tuple[str, ...], columns: int) -> str:
    done = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(columns), "TERMINAL_WIDTH": str(columns)})
    assert done.exit_code == 0, done.output
    return done.output


def sources(command: Any) -> list[str]:
    """The texts of a help as they are written: a docstring, an epilog, and those of options."""
    function = inspect.unwrap(command.callback)
    hints = get_type_hints(function, include_extras=True).values()
    options = [info.help or "" for hint in hints for info in getattr(hint, "__metadata__", ())]
    return [function.__doc__ or "", EPILOG if function.__name__ == "weigh" else "", *options]


def plain(text: str) -> str:
    """A text on one line, without the frames of a table."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


@pytest.mark.parametrize("words", [words for words, command in COMMANDS.items() if not hasattr(command, "commands")])
def test_every_bracket_of_the_source_is_shown(words):
    text = plain(shown(words, 400))
    pieces = [piece for source in sources(COMMANDS[words]) for piece in BRACKETED.findall(source)]
    assert [piece for piece in pieces if plain(piece) not in text] == []


def test_there_are_brackets_to_show():
    pieces = [
        p for command in COMMANDS.values() if command.callback for s in sources(command) for p in BRACKETED.findall(s)
    ]
    assert {"[low, high]", "[...G...]", "[@revision]"} <= set(pieces)


@pytest.mark.parametrize("words", COMMANDS)
def test_paragraphs_fill_their_lines(words):
    """Only the last line of a paragraph has room for the next one's first word."""
    lines = [line.rstrip() for line in shown(words, 80).splitlines()]
    frame = next(i for i, line in enumerate(lines) if "╭" in line)
    for line, after in pairwise(lines[:frame]):
        if line.strip() and after.strip():
            assert len(line) + 1 + len(after.split()[0]) > 78, line


@pytest.mark.parametrize("words", [words for words in COMMANDS if words[-1] not in SUBCOMMANDS])
def test_a_whole_example_is_a_command_line_of_it(words):
    """It stands on one line of 80 columns, and its arguments are those of the command."""
    (example,) = re.findall(r"^ Example: (rlvr .+?) *$", shown(words, 80), re.MULTILINE)
    name, *rest = shlex.split(example)
    assert name == "rlvr" and tuple(rest[: len(words)]) == words
    command = COMMANDS[words]
    with command.make_context(" ".join(words), rest[len(words) :]) as context:
        assert not context.args


def test_every_command_is_in_a_group_and_the_shell_completes_them(monkeypatch):
    text = shown((), 100)
    assert all(group in text for group in GROUPS) and "─ Commands ─" not in text
    monkeypatch.setenv("_RLVR_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "rlvr new-")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = CliRunner().invoke(app, prog_name="rlvr")
    assert done.output.split() == ["new-estimator", "new-paper"]
