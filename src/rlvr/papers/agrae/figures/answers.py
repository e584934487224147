"""Pictures of some problems beside what policies answered, such as before and after training (not in the papers)."""

import base64
import json
import textwrap
from io import BytesIO
from pathlib import Path

import pandas as pd
from pydantic import Field

from rlvr.config import identity
from rlvr.config.layers import ConfigError
from rlvr.config.plan import Item, Plan
from rlvr.figures import _scored
from rlvr.figures._panels import WIDTH, Axes, Figure, nothing
from rlvr.items.inputs import Folders, Samples
from rlvr.items.layout import filled
from rlvr.items.scope import Scope
from rlvr.records import MARK
from rlvr.statistics.run_rows import cell_columns

CAPTION = "The first problems of each benchmark, and the first sample of each policy, of the first training seed."
LARGEST = 280  # pixels of a side, to which pictures are made smaller
LETTERS = 62  # of a line
LINE = 0.16  # inches
COLUMNS = [
    *("model", "stand_in", "arm", "label", "policies", "benchmark", "problem"),
    *("prompt", "gold", "picture", "response", "status", "seeds"),
]


class Config(_scored.ScoredFigure):
    problems: int = Field(default=3, ge=1)  # of each benchmark


def expand(name: str, config: Config, scope: Scope) -> Item:
    if not (config.over() and config.models and config.arms):
        raise ConfigError(f"{scope.place}: a figure of answers needs models, arms and benchmarks")
    return _scored.expand(name, config.model_copy(update={"k": [1]}), scope)


class AnswersLayout(_scored.ScoredLayout):
    problems: int
    data: dict[str, str]  # the set of each evaluation


def lay_out(item: Item, plan: Plan, paper: str) -> AnswersLayout:
    names = [name for evaluations in item.evaluations.values() for name in evaluations]
    data = {name: identity.data_id(plan.evaluations[name].data) for name in names}
    return filled(AnswersLayout, item, plan, paper, data=data)


def statistics(layout: AnswersLayout, samples: Samples, folders: Folders) -> pd.DataFrame:
    """One row per problem and policy: the problem with its picture (base64 of a PNG), the response, its verdict."""
    rows = []
    for panel in layout.panels:
        for cell in layout.cells:
            policy, evaluation = cell.policies[0], panel.evaluations.get(cell.model.split(", ")[0])
            if evaluation is None:
                continue
            completions, grades, problems = samples[policy, evaluation]
            first = {}
            for completion, grade in zip(completions, grades, strict=True):
                first.setdefault(completion["problem"], (completion["text"], grade["status"]))
            columns = {**cell_columns(cell, [policy]), "benchmark": panel.name, "seeds": 1}
            for problem in problems[: layout.problems]:
                response, status = first[problem["id"]]
                shown = [folders[layout.data[evaluation]] / name for name in problem.get("images", ())[:1]]
                rows.append(
                    {
                        **columns,
                        **{"problem": problem["id"], "prompt": MARK.sub("", problem["prompt"]).strip()},
                        **{"gold": _gold(problem["gold"]), "picture": "".join(map(_picture, shown))},
                        **{"response": response, "status": status},
                    }
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def _gold(gold: str) -> str:
    """A gold as a reader says it: the option itself where the gold lists the options."""
    if not gold.startswith("{"):
        return gold
    content = json.loads(gold)
    return str(content["options"]["ABCDEFGHIJ".index(content["letter"])])


def _picture(path: Path) -> str:
    from PIL import Image

    file = BytesIO()
    with Image.open(path) as picture:
        small = picture.convert("RGB")
        small.thumbnail((LARGEST, LARGEST))
        small.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def draw(layout: AnswersLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: a row per problem, its picture at the left, question and answers at the right."""
    import matplotlib.pyplot as plt

    frame = frames[0]
    if frame.empty:
        return nothing("No problem of these benchmarks was answered.")
    rows = [of for _, of in frame.groupby(["model", "benchmark", "problem"], sort=False)]
    texts = [_lines(of) for of in rows]
    heights = [max(1.1, LINE * (len(lines) + 1)) for lines in texts]
    figure, grid = plt.subplots(
        len(rows), 2, figsize=(WIDTH, sum(heights)), squeeze=False, width_ratios=[1, 4], height_ratios=heights
    )
    for (left, right), of, lines in zip(grid, rows, texts, strict=True):
        _show(left, str(of["picture"].iloc[0]))
        right.set_axis_off()
        for number, (text, color) in enumerate(lines):
            place = 1 - (number + 0.5) / len(lines)
            right.text(0, place, text, color=color, va="center", parse_math=False)
    return figure


def _lines(of: pd.DataFrame) -> list[tuple[str, str]]:
    """The lines beside a picture, with their colours."""
    first = of.iloc[0]
    begin, *rest = _wrapped(str(first["prompt"]))
    lines = [(text, "black") for text in (f"{first['benchmark']}: {begin}", *rest)]
    lines.append((f"right: {first['gold']}", "0.45"))
    for row in of.to_dict("records"):
        color = "#0a5f43" if row["status"] == "correct" else "#8a3b00"
        *begin, last = _wrapped(f"{row['label']}: {row['response']}")
        lines += [(text, color) for text in (*begin, f"{last}  ({row['status']})")]
    return lines


def _wrapped(text: str) -> list[str]:
    """At most four lines of a text."""
    lines = textwrap.wrap(" ".join(text.split()), LETTERS) or [""]
    return lines if len(lines) <= 4 else [*lines[:3], f"{lines[3]} …"]


def _show(axes: Axes, picture: str) -> None:
    from matplotlib.image import imread

    axes.set_axis_off()
    if picture and picture != "nan":
        axes.imshow(imread(BytesIO(base64.b64decode(picture)), format="png"), interpolation="nearest")


FIGURE = _scored.ScoredKind(
    config=Config,
    layout=AnswersLayout,
    expand=expand,
    lay_out=lay_out,
    statistics=statistics,
    reads=("samples", "folders"),
    draw=draw,
    caption=CAPTION,
)
