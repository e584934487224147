"""The text below a figure, and what it says to readers who do not see it."""

from collections.abc import Sequence

import pandas as pd

from rlvr.config.layouts import Layout
from rlvr.items import FIGURE_KINDS

ONE_SEED = "One training seed: intervals are over problems alone, and curves over training have none."
MOST = 8  # methods whose numbers an alternative text gives


def caption(kind: str, frames: Sequence[pd.DataFrame], smooth: int | None = None) -> str:
    """The kind's words on lines, bands and bars, with the number of seeds, and on smoothing."""
    seeds = [int(frame["seeds"].max()) for frame in frames[:1] if "seeds" in frame and len(frame)]
    words, most = FIGURE_KINDS.load(kind).caption, max(seeds, default=0)
    words = ONE_SEED if most == 1 and "{seeds}" in words else words.format(seeds=most)
    return words + (f" Measures of training batches are means of the last {smooth} steps." if smooth else "")


def figure(layout: Layout, smooth: int | None, frames: Sequence[pd.DataFrame], picture: str) -> dict[str, str]:
    """What pages show of a figure: its title, its picture, the text in its place, and the words below it."""
    below = [
        (layout.note or "").strip(),
        caption(layout.kind, frames, smooth),
        "" if FIGURE_KINDS.load(layout.kind).every_scale else f"Made at {layout.scale} scale.",
    ]
    words = " ".join(filter(None, below))
    return {"title": layout.title, "picture": picture, "alt": in_words(layout.title, frames), "caption": words}


def in_words(title: str, frames: Sequence[pd.DataFrame]) -> str:
    """An alternative text: the title, and where each curve ends, or else the methods."""
    found = []
    for frame in (frame for frame in frames if "label" in frame):
        labels = dict.fromkeys(str(label) for label in frame["label"].dropna() if label)
        found += _ends(frame) or [", ".join(labels)]
    return ". ".join([title, *found]).replace("[", "(").replace("]", ")").replace("\n", " ")


def _ends(frame: pd.DataFrame) -> list[str]:
    """The values at the last step or the largest k, a sentence per model, benchmark and measure; only of curves."""
    along = next((name for name in ("step", "k") if name in frame), "")
    keys = [name for name in ("stand_in", "benchmark", "measure", "score") if name in frame]
    if not along or "value" not in frame or frame["label"].nunique() > MOST:
        return []
    if frame.duplicated(["model", *keys, "label", along]).any():
        return []  # several points of a method at one place
    words = []
    for names, rows in frame.groupby(keys, sort=False):
        last = rows[rows[along] == rows[along].max()]
        values = ", ".join(f"{row['label']} {row['value']:.3g}" for row in last.to_dict("records"))
        words.append(f"{', '.join(map(str, names))}, {along} {rows[along].max():g}: {values}")
    return words
