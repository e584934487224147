"""A table in three formats, with title, scale and notes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import pandas as pd

from rlvr.config.layouts import Layout
from rlvr.files import publish
from rlvr.items import latex


def scale_line(layout: Layout) -> str:
    """The sentence about the scale, which precedes all numbers."""
    return f"Made at {layout.scale} scale. {layout.about_scale}"


@dataclass(frozen=True)
class Rendered:
    """A table with cells as text; `notes` follow it."""

    title: str
    scale: str
    frame: pd.DataFrame
    notes: list[str]

    @classmethod
    def of(cls, layout: Layout, frame: pd.DataFrame, notes: Sequence[str]) -> Self:
        """The table of a layout, with its own note after the others."""
        return cls(layout.title, scale_line(layout), frame, [*notes, *([layout.note] if layout.note else [])])

    def markdown(self) -> str:
        from tabulate import tabulate  # a plan loads this module where nothing is rendered

        body = tabulate(cast(Any, self.frame), headers="keys", tablefmt="pipe", showindex=False, disable_numparse=True)
        notes = "\n".join(f"- {note}" for note in self.notes)
        return f"# {self.title}\n\n**{self.scale}**\n\n{body}\n\n{notes}\n"

    def latex(self) -> str:
        return latex.table(self.title, [self.scale, *self.notes], self.frame)

    def csv(self) -> str:
        return self.frame.to_csv(index=False, lineterminator="\n")

    def write(self, out: list[Path]) -> None:
        writers = {".md": self.markdown, ".tex": self.latex, ".csv": self.csv}
        for path in out:
            publish(path, writers[path.suffix]())
