"""Where commands print by rich."""

import sys

from rich.console import Console

WIDE = 160  # columns where the output is no terminal


def console() -> Console:
    return Console(file=sys.stdout, width=None if sys.stdout.isatty() else WIDE, highlight=False)
