"""A paper's settings as a page: each value that the plan resolves to, beside the paper's sentence about it."""

from collections import Counter
from html import escape
from typing import Any

from rlvr.config.plan import Plan
from rlvr.config.schema.stated import NOT_STATED
from rlvr.planning import stated
from rlvr.report import text
from rlvr.report.browse import CHOICE, TEXT, TableCell, popover, table

COLUMNS = {"Setting": TEXT, "Verdict": CHOICE, "Here": TEXT, "The paper": TEXT, "Deviation": TEXT, "Part": CHOICE}
MARKS = {
    **{stated.EQUAL: "reproduced", stated.DIFFERS: "contradicted", stated.IN_WORDS: "not-comparable"},
    NOT_STATED: "not-run",
}
PARTS = {"": "subject", "estimator": "policy weight", "sft": "SFT", "rl": "RL", "loss": "loss", "probe": "probes"}


def page(plan: Plan, name: str, devices: Any, whole: Any) -> str:
    """The page of one paper; `devices` and `whole` are `rlvr.cost.stated.compared`'s."""
    lines, paper = stated.lines(plan, name), plan.papers[name].paper
    deviations = list(dict.fromkeys(line.deviation for line in lines if line.deviation))
    numbers = {deviation: i for i, deviation in enumerate(deviations, 1)}
    counts = Counter(line.verdict for line in lines)
    rows = [("", _row(line, numbers)) for line in lines]
    return text.render(
        "stated.md.j2",
        short=paper.short,
        name=name,
        scale=plan.scale,
        number=len(lines),
        counts=", ".join(f"{counts[verdict]} *{verdict}*" for verdict in MARKS if counts[verdict]),
        table=table(f"Settings of {paper.short}", COLUMNS, rows),
        popovers=[popover(_anchor(i), f"Deviation {i}", {"": escape(one)}) for one, i in numbers.items()],
        deviations=deviations,
        devices=devices,
        whole=whole,
    )


def _anchor(number: int) -> str:
    return f"deviation-{number}"


def _row(line: stated.Line, numbers: dict[str, int]) -> list[TableCell]:
    section, _, _ = line.setting.rpartition(".")
    part = section.partition(".")[0]
    number = numbers.get(line.deviation, 0)
    ours = "; ".join(f"{value} ({about})" if about else value for value, about in line.ours)
    return [
        TableCell(line.setting, small=line.about),
        TableCell(line.verdict, small=line.fault, mark=MARKS[line.verdict]),
        TableCell(ours or "without settings"),
        TableCell("" if line.says == NOT_STATED else line.says, small=line.place),
        TableCell(str(number), origin=_anchor(number)) if number else TableCell(""),
        TableCell(PARTS.get(part, part)),
    ]
