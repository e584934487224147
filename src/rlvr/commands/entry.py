"""The start and end of every command: an error is one line on the standard error, and an exit code.

0: success; 1: the machine or this package failed (a full disk, no memory, a fault); 2: wrong arguments or input; 130:
interrupted. A closed pipe ends a command silently. With `python -X dev -m rlvr` a fault shows its traceback.
"""

import os
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from inspect import cleandoc
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from rlvr.commands.extras import requirement
from rlvr.commands.lines import COMMAND, say
from rlvr.files import Mistake

# By its version, typer has its own copy of click, or uses the installed one.
UsageError, ClickException = typer.BadParameter.__mro__[1:3]


class Commands(TyperGroup):
    """The commands, which all end in the same way."""

    def __init__(self, *words: Any, **options: Any):
        super().__init__(*words, **options)
        make_readable(self)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        words = list(sys.argv[1:] if args is None else args)
        COMMAND.set(command_of(self, words))
        try:
            if sys.stdout is None:
                raise OSError("the standard output is closed")
            code = super().main(words, *rest, **{**extra, "standalone_mode": False})
            sys.stdout.flush()
        except Exception as error:
            code = exit_code_of(error)
        drop_unwritable()
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except EOFError as error:  # typer would say "Aborted." after an empty line
            raise UsageError(f"an input ends too early: {error}") from error


def make_readable(command: Any) -> None:
    """Makes typer show the help of a command, its options and its subcommands as it is meant.

    It takes words in brackets for markup, which it hides, and the ends of a source's lines for those of a paragraph's.
    """
    command.help = _as_text(command.help)
    command.epilog = _as_text(command.epilog)
    for option in command.params:
        option.help = _as_text(getattr(option, "help", None))
    for other in getattr(command, "commands", {}).values():
        make_readable(other)


def _as_text(text: str | None) -> str | None:
    from rich.markup import escape  # typer needs it too

    return text and escape(re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(text)))


def command_of(group: Any, words: list[str]) -> str:
    """The command of a command line: `data prepare` of `data prepare aime-2025 --out x`."""
    names: list[str] = []
    for word in words:
        group = getattr(group, "commands", {}).get(word)
        if group is None:
            break
        names.append(word)
    return " ".join(names)


def exit_code_of(error: Exception) -> int:
    """The exit code of an error; prints one line about it."""
    if isinstance(error, ClickException):
        return exit_code_of_usage(error)
    if isinstance(error, Mistake):
        for line in str(error).splitlines()[: error.lines]:
            say(line)
        return 2
    if isinstance(error, OSError):
        say(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
        return 1
    if isinstance(error, MemoryError | typer.Abort):
        say("not enough memory" if isinstance(error, MemoryError) else "aborted")
        return 1
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if module not in ("", "rlvr"):  # a package from pip
        say(f"{module} is not installed; pip install '{requirement(COMMAND.get().partition(' ')[0], module)}'")
        return 2
    if sys.flags.dev_mode:
        raise error
    say(f"a fault of rlvr: {cause(error)}; `python -X dev -m rlvr ...` shows where, please report it")
    return 1


def exit_code_of_usage(error: Any) -> int:
    """The exit code of a wrong command line; prints click's message on one line, or help for an empty command line."""
    if type(error).show is not UsageError.show and isinstance(error, UsageError):
        with suppress(OSError):
            error.show()
    else:
        say(error.format_message())
    return error.exit_code


def cause(error: Exception) -> str:
    """The kind of an exception, its message, and the last line of code below it."""
    last = [(at.filename, at.lineno) for at in traceback.extract_tb(error.__traceback__)[-1:]]
    in_process = re.findall(r'File "(.+)", line (\d+)', str(error.__cause__ or ""))  # of a pool
    last = in_process[-1:] or last
    place = "".join(f" ({Path(name).name}:{line})" for name, line in last)
    return f"{type(error).__name__}: {str(error)[:200]}{place}"


def drop_unwritable() -> None:
    """Drops buffered text that cannot be written: Python would try again at exit, and complain."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
