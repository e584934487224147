"""Two verifiers on the same answers: how many each finds right, and where they differ."""

from collections import Counter
from dataclasses import dataclass, field

from rlvr import verifiers
from rlvr.verifiers import THOUGHT, Judgement

LONGEST = 40  # characters of an answer or a gold in a table


@dataclass(frozen=True)
class Row:
    """An answer on which the verifiers differ: its place, its gold as the first takes it, and both judgements."""

    place: tuple[str, ...]
    gold: str
    judgements: tuple[Judgement, Judgement]


@dataclass
class Comparison:
    """Counts of answers by (first right, second right), statuses of each verifier, and the rows that differ.

    `most` bounds the rows that are kept; the counts are of all.
    """

    verifiers: tuple[str, str]
    most: int | None = None
    cells: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    statuses: tuple[Counter[str], Counter[str]] = field(default_factory=lambda: (Counter(), Counter()))
    rows: list[Row] = field(default_factory=list)

    def add(self, place: tuple[str, ...], gold: str, first: Judgement, second: Judgement) -> None:
        """Count an answer. An answer that is not judged, such as a `timeout`, is not right."""
        right = (first[0] == "correct", second[0] == "correct")
        self.cells[right] += 1
        for counts, (status, _) in zip(self.statuses, (first, second), strict=True):
            counts[status] += 1
        if right[0] != right[1] and (self.most is None or len(self.rows) < self.most):
            self.rows.append(Row(place, gold, (first, second)))

    @property
    def answers(self) -> int:
        return self.cells.total()

    def counts(self) -> dict[str, int]:
        """The numbers of answers that both, one or none of the verifiers finds right."""
        first, second = self.verifiers
        names = {"both right": (True, True), f"only {first}": (True, False)}
        names |= {f"only {second}": (False, True), "both wrong": (False, False)}
        return {name: self.cells[cell] for name, cell in names.items()}

    def right(self) -> tuple[int, int]:
        """The numbers of answers that the first and the second verifier find right."""
        both = self.cells[True, True]
        return both + self.cells[True, False], both + self.cells[False, True]

    def summary(self) -> list[str]:
        """A sentence on each verifier, and one with the four counts."""
        lines = []
        for name, right, statuses in zip(self.verifiers, self.right(), self.statuses, strict=True):
            stopped = [f"{statuses[one]:,} {one}" for one in ("timeout", "out_of_memory", "error") if statuses[one]]
            share = f"{right:,} of {self.answers:,} right, {100 * right / self.answers:.1f} %"
            lines.append(f"{name} (version {verifiers.kind(name).version}): " + ", ".join([share, *stopped]))
        return [*lines, ", ".join(f"{name} {count:,}" for name, count in self.counts().items())]

    def table(self, names: tuple[str, ...]) -> list[list[str]]:
        """The rows that differ, after a header: the place by its names, the gold, each verifier's judgement."""
        cells = [[*row.place, cut(row.gold), *map(_said, row.judgements)] for row in self.rows]
        return [[*names, "gold", *self.verifiers], *cells]


def _said(judgement: Judgement) -> str:
    """A status, and the answer that was read."""
    status, extracted = judgement
    return status if extracted is None else f"{status}: {cut(extracted)}"


def cut(text: str) -> str:
    """A text on one line; a long one without its end."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def gold_for(gold: str, verifier: str) -> str:
    """The gold as a verifier takes it: one that looks for no thoughts compares without the mark of a thought's end."""
    return gold if verifiers.kind(verifier).after_think else gold.removeprefix(THOUGHT)
