"""Groups of rollouts on a terminal, by rich."""

from collections.abc import Iterable

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from rlvr.show import sparks
from rlvr.show.comparison import Comparison, Scores
from rlvr.show.console import console
from rlvr.show.groups import Shown
from rlvr.show.highlight import percent, pieces, printable, signed

LONGEST = 600  # characters of a response
FLIPS = 20  # problems
FALSE = "bold underline red"


def show(groups: Iterable[Shown], notes: list[str]) -> None:
    """Print groups one after another, each as soon as it is read, and notes."""
    out = console()
    for shown in groups:
        out.print(panel(shown))
    for note in notes:
        out.print(Text(note, style="dim"))


def panel(shown: Shown) -> RenderableType:
    """A group: its prompt, and a line per visible rollout."""
    group = shown.group
    step = f"step {group.step} · " if group.step else ""
    title = f"{step}{group.problem} · {shown.right} of {len(group.statuses)} correct"
    about = Text.assemble(("prompt ", "dim"), printable(group.prompt), ("\ngold   ", "dim"), printable(group.gold))
    return Panel(Group(about, _table(shown)), title=Text(printable(title)), title_align="left")


def _table(shown: Shown) -> Table:
    group, table = shown.group, Table(box=box.SIMPLE_HEAD, expand=True)
    table.add_column("#", justify="right")
    shift = [] if group.log_ratio is None else ["c"]
    for name in (*shown.weights, "verdict", "reward", *shift, "log p"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=name != "verdict")
    table.add_column("tokens", justify="right")
    table.add_column("response", ratio=1, overflow="fold")
    for i in shown.visible:
        shift = [] if group.log_ratio is None else [f"{group.log_ratio[i]:+.3f}"]
        own = [weights[i] for weights in shown.weights.values()]
        weights = [Text(f"{w:+.3f}", style="blue" if w > 0 else "red" if w < 0 else "dim") for w in own]
        numbers = [f"{group.rewards[i]:.3g}", *shift, f"{group.logp[i]:.2f}", str(group.lengths[i])]
        table.add_row(str(i), *weights, verdict(group.statuses[i], group.extracted[i]), *numbers, _response(shown, i))
    return table


def verdict(status: str, extracted: str | None) -> Text:
    """The status and, where it is not correct, the answer that was read."""
    said = "" if status == "correct" or extracted is None else f": {printable(extracted)[:60]}"
    return Text(f"{status}{said}", style="green" if status == "correct" else "yellow")


def _response(shown: Shown, rollout: int) -> Text:
    before, false, after = pieces(shown, rollout)
    text = Text.assemble(before, (f"✗{false}" if false else "", FALSE), after)  # the sign is for pipes, without colours
    if len(text) <= LONGEST:
        return text
    start = max(0, min(len(before) - LONGEST // 2, len(text) - LONGEST)) if false else 0
    cut = f" … of {len(text):,} characters; --html has them all"
    return Text.assemble("… " if start else "", text[start : start + LONGEST], (cut, "dim"))


def show_comparison(of: Comparison) -> None:
    """Print how two runs or evaluations differ."""
    out = console()
    out.print(Text.assemble(("A ", "bold blue"), of.a, ("\nB ", "bold yellow"), of.b))
    for table in (_settings(of), *map(_scores, of.scores), *map(_flips, of.scores), _curves(of)):
        if table.row_count:
            out.print(table)
    if not of.settings:
        out.print(Text("No setting differs.", style="dim"))


def _settings(of: Comparison) -> Table:
    table = _titled("Settings that differ", "setting", "A", "B")
    for setting in of.settings:
        table.add_row(*(Text("not there" if text is None else text) for text in (setting.key, setting.a, setting.b)))
    return table


def _scores(scores: Scores) -> Table:
    table = _titled(f"{scores.evaluation}: {scores.problems} problems", "k", "pass@k of A", "pass@k of B", "B - A", "p")
    for at in scores.at_k:
        texts = (percent(at.a), percent(at.b), signed(at.difference), f"{at.difference.p:.3f}")
        table.add_row(str(at.k), *map(Text, texts))
    table.caption = scores.withheld()
    return table


def _flips(scores: Scores) -> Table:
    table = _titled(f"{scores.evaluation}: problems that flipped", "problem", "A", "B", "change of pass@1")
    most = scores.flips if len(scores.flips) <= FLIPS else [*scores.flips[: FLIPS // 2], *scores.flips[-FLIPS // 2 :]]
    for flip in most:
        counts = (f"{correct} of {n}" for correct, n in (flip.a, flip.b))
        table.add_row(Text(printable(flip.problem)), *counts, f"{100 * flip.gain:+.1f}")
    if len(most) < len(scores.flips):
        table.caption = f"{len(scores.flips)} in all; those with the largest changes"
    return table


def _curves(of: Comparison) -> Table:
    table = _titled("Curves, and their means over the last quarter", "measure", "steps", "A", "B", "", "", "B - A")
    for curve in of.curves:
        (a, b), (ours, theirs) = curve.ends, sparks.lines(curve)
        numbers = (f"{a:.4g}", f"{b:.4g}", f"{b - a:+.3g}")
        table.add_row(curve.label, f"{curve.steps[0]}-{curve.steps[-1]}", ours, theirs, *numbers)
    return table


def _titled(title: str, *columns: str) -> Table:
    return Table(*columns, box=box.SIMPLE_HEAD, title=Text(title, style="bold"), title_justify="left")
