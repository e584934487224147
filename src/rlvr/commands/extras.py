"""Which of the package's extras a command asks for, where what it imports is not installed."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from rlvr.commands.lines import fail

DISTRIBUTION = "rlvr-reproduction"
# The extra of pyproject.toml that brings a module, and the one that brings all that a command may import.
OF_MODULE = {
    "torch": "torch",
    "transformers": "train",
    "datasketch": "data",
    "huggingface_hub": "data",
    "pyarrow": "data",
}
OF_COMMAND = {"diversity": "diversity"}


class Commands(TyperGroup):
    """The commands; one that lacks a package ends with one line: what is missing, and what installs it."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            module = (error.name or "").partition(".")[0]
            if module in ("", "rlvr"):  # not a package that pip could bring
                raise
            command = ctx.invoked_subcommand or ""
            fail(command, f"{module} is not installed; pip install '{requirement(command, module)}'")


def requirement(command: str, module: str) -> str:
    """What pip is asked for: the distribution with the extra, or alone where the module belongs to its base."""
    if module not in OF_MODULE:
        return DISTRIBUTION
    return f"{DISTRIBUTION}[{OF_COMMAND.get(command, OF_MODULE[module])}]"
