"""A table in three formats, with title, scale and notes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rlvr.files import publish

GREEK = {"α": "alpha", "δ": "delta", "η": "eta", "ρ": "rho", "π": "pi", "Δ": "Delta", "Σ": "Sigma"}
SIGNS = {letter: rf"$\{name}$" for letter, name in GREEK.items()}
SIGNS |= {"−": "$-$", "±": r"$\pm$", "×": r"$\times$", "→": r"$\to$", "²": "$^2$", "†": r"$\dagger$"}
SIGNS |= {"₁": "$_1$", "₂": "$_2$", "‖": r"$\|$", "√": r"$\surd$", "⊥": r"$^\perp$", "⊗": r"$\otimes$"}


def scale_line(layout: dict[str, Any]) -> str:
    """The sentence about the scale, which precedes all numbers."""
    return f"Made at {layout['scale']} scale. {layout['about_scale']}"


@dataclass(frozen=True)
class Rendered:
    """A table with cells as text; `notes` follow it."""

    title: str
    scale: str
    frame: pd.DataFrame
    notes: list[str]

    def markdown(self) -> str:
        notes = "\n".join(f"- {note}" for note in self.notes)
        return f"# {self.title}\n\n**{self.scale}**\n\n{self._body('pipe')}\n\n{notes}\n"

    def latex(self) -> str:
        body = self._body("latex_booktabs")
        for sign, command in SIGNS.items():
            body = body.replace(sign, command)
        notes = " ".join(_escape(note) for note in [self.scale, *self.notes])
        return (
            "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\\small\n"
            f"\\caption{{{_escape(self.title)}. {notes}}}\n{body}\n\\end{{table}}\n"
        )

    def _body(self, tablefmt: str) -> str:
        from tabulate import tabulate  # a plan loads this module where nothing is rendered

        return tabulate(self.frame, headers="keys", tablefmt=tablefmt, showindex=False, disable_numparse=True)

    def csv(self) -> str:
        return self.frame.to_csv(index=False, lineterminator="\n")

    def write(self, out: list[Path]) -> None:
        writers = {".md": self.markdown, ".tex": self.latex, ".csv": self.csv}
        for path in out:
            publish(path, writers[path.suffix]())


def _escape(text: str) -> str:
    replacements = {"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "<": "$<$", **SIGNS}
    return "".join(replacements.get(character, character) for character in text)
