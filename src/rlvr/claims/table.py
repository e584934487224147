"""Stage: claims. The results at every scale so far, as CSV for programs and Markdown for readers."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from tabulate import tabulate

from rlvr.claims import agreement, grid
from rlvr.claims.score_claims import UNIT
from rlvr.claims.verdicts import (
    ABOUT,
    APART,
    AT_BOUND,
    BY_PART,
    DECIDED,
    EQUIVALENT,
    HOLDS,
    IDENTICAL,
    JUDGED,
    NOT_COMPARABLE,
    NOT_EXERCISED,
    NOT_RUN,
    OF_STAND_INS,
    OTHER_RATES,
    OURS,
    SMALLER,
    VERDICTS,
    false_discoveries,
    meaning,
)
from rlvr.config.measures import PERCENTAGE, of_difference
from rlvr.files import RecordError, publish
from rlvr.statistics.shown import WITHHELD, is_withheld, records

NOTES = [
    "Reproduced: the 95 % interval of every contrast of the claim lies where the claim says. Contradicted: that of "
    "one, widened for all contrasts of the claim that were judged (max-t; given beside it), lies elsewhere. "
    "Inconclusive: neither. A contrast is a model, a benchmark and a k.",
    f"At a scale with stand-ins for the paper's models and data the words are {', '.join(OF_STAND_INS)}: such a "
    "verdict is on what was run, which the deciding contrast names, and not on the paper's models.",
    f"{SMALLER.capitalize()}: the claim asks for a gain of a size, and the gain found is below that; that it is below "
    f"0 is not shown. {APART.capitalize()}: the claim says that two methods are near each other, and they are not.",
    "A claimed size is reproduced where the interval includes the size or lies above it, and excludes half of it.",
    f"{EQUIVALENT.capitalize()}: the claim says that one method is above another, and their difference is smaller than "
    "any of practical size (half a point of pass@k, and at most a quarter of the claimed effect). "
    f"{BY_PART.capitalize()}: over a part of training half as long, or one and a half times, the verdict is another.",
    f"Not judged: {IDENTICAL} (the methods' results are equal to the last bit), {AT_BOUND} (all scores are near 0 or "
    f"100, or the claimed size is out of reach), {OTHER_RATES} (the stand-ins train at different learning rates, to "
    f"which AdamW's steps are proportional), {NOT_COMPARABLE} (at this k blind guesses score too much, or no learning "
    "rate of a method has the baseline's pass@1). What was not run says nothing.",
    "Paper's setting: one learning rate for all methods, as the paper has it (at a scale with stand-ins, the scale's). "
    "Equal pass@1: each method where, over its learning rates, its pass@1 is that of the baseline at the paper's "
    "setting. At k = 1, and for the base policy, there is then nothing to compare.",
    "The estimate is of the contrast that decides, the one with the smallest margin: in percent points of pass@k, or "
    "in the unit of a curve's measure.",
    "Published: whether the paper's own numbers, taken as exact, say what it claims.",
]
NOTE_ON_CRITERIA = (
    f"{NOT_EXERCISED.capitalize()}: the runs of an arm do not meet a criterion of what its paper proposes, such as how "
    "far confidence has moved (mechanisms.md). A claim that compares it with another arm then tests nothing of it. "
    "The estimate is what was found."
)
CHOSEN = (
    "Where stand-ins are trained, claims about the baseline and its base policy do not count as found: settings were "
    "chosen so that the baseline gains pass@1, loses pass@k at large k and loses half of its entropy (docs/log.md)."
)
LEVEL = 0.05  # of false discoveries
BOUNDS = ("threshold", "no_effect", "size")  # read as numbers with a point, whatever other claims have
DISTINCT = ("distinct", "distinct_decided")  # contrasts that no earlier claim of the kind has, and those that differ


def gather(folder: Path) -> pd.DataFrame:
    """The claims at every scale in a folder, as `rlvr.claims.evaluate` writes them. Raises RecordError for older ones.

    `p_of_all_claims` is the adjusted p over all claims of a scale and effort (`false_discoveries`).
    """
    files = sorted(path for path in folder.glob("*/*.csv") if not path.stem.endswith("-contrasts"))
    frames = {path: _read(path) for path in files}
    if old := [path for path, frame in frames.items() if not {"p", "reason", "of", "distinct"} <= set(frame)]:
        raise RecordError(f"{old[0]}: an earlier version wrote it; remove it, and evaluate its claims again")
    frame = pd.concat(frames.values(), ignore_index=True) if frames else pd.DataFrame()
    return frame if frame.empty else tested_together(frame)


def of_texts(texts: Iterable[str]) -> pd.DataFrame:
    """The same of the texts of such files."""
    return tested_together(pd.concat([_read(io.StringIO(text)) for text in texts], ignore_index=True))


def _read(file: Path | io.StringIO) -> pd.DataFrame:
    return pd.read_csv(file, dtype=dict.fromkeys(BOUNDS, float))


def tested_together(frame: pd.DataFrame) -> pd.DataFrame:
    """The claims with `p_of_all_claims`, by scale and effort."""
    columns = frame.groupby(["scale", "effort"], sort=False)["p"]
    return frame.assign(p_of_all_claims=columns.transform(false_discoveries))


def notes(frame: pd.DataFrame) -> list[str]:
    """What the words of a table of claims mean."""
    return [*NOTES, NOTE_ON_CRITERIA] if (frame["verdict"] == NOT_EXERCISED).any() else NOTES


def kind_of(row: Any) -> str:
    """What a claim is about, in words; margins and controls of ours are a kind of their own."""
    return ABOUT[row["about"]] if row["of"] == "paper" else OURS


def counted(frame: pd.DataFrame) -> pd.DataFrame:
    """The claims whose verdicts count as found: not those that the settings were chosen for (CHOSEN)."""
    return frame[~_chosen(frame)] if len(frame) else frame


def _chosen(frame: pd.DataFrame) -> pd.Series:
    of_stand_in = frame["stand_in"].notna() & (frame["stand_in"] != frame["model"])
    return (frame["about"] == "base") & (frame["of"] == "paper") & of_stand_in


def counts(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """How many claims are judged, decided and remain: a row per value of the columns `by` and per kind of claim.

    `remain`: decided, with `p_of_all_claims` at most LEVEL. `contrasts` are the judged ones, each counted once, and
    `contrasts that differ` those of them whose interval leaves out no effect (DISTINCT). Then a column per verdict.
    """
    decided = frame["verdict"].isin(DECIDED)
    frame = frame.assign(
        **{"claims": [kind_of(row) for row in frame.to_dict("records")], "decided": decided},
        judged=frame["verdict"].map(meaning).isin(JUDGED),
        remain=decided & (frame["p_of_all_claims"] <= LEVEL),
    )
    rows = frame.groupby([*by, "claims"], sort=False)
    summed = ["judged", "decided", "remain", *(name for name in DISTINCT if name in frame)]
    sums = rows[summed].sum()
    sums = sums.rename(columns={"distinct": "contrasts", "distinct_decided": "contrasts that differ"})
    verdicts = rows["verdict"].value_counts().unstack(fill_value=0)
    return sums.join(verdicts[[verdict for verdict in VERDICTS if verdict in verdicts]]).reset_index()


def cautions(frame: pd.DataFrame) -> list[str]:
    """What a reader of these verdicts must know."""
    return [CHOSEN] if len(frame) and (_chosen(frame) & frame["verdict"].isin(DECIDED)).any() else []


def discoveries(frame: pd.DataFrame) -> list[str]:
    """A sentence per scale and effort, and one of all: how many counted verdicts remain when all are tested together.

    All claims are tested together, also those that do not count as found.
    """
    texts = []
    frame = counted(frame.assign(p_of_all=false_discoveries(frame["p"]))) if len(frame) else frame
    for (scale, effort), claims in frame.groupby(["scale", "effort"], sort=False):
        decided = claims[claims["verdict"].isin(DECIDED)]
        tested = int(claims["p"].notna().sum())
        kept = int((decided["p_of_all_claims"] <= LEVEL).sum())
        if tested:
            texts.append(
                f"{scale}, {effort}: {len(decided)} of {tested}{_with_ours(claims)} are decided, each at 5 %; {kept} "
                f"of them remain where at most {100 * LEVEL:g} % of all decisions may be false "
                f"(Benjamini & Yekutieli 2001).{_counted_once(claims)}"
            )
    if len(texts) > 1:
        decided, p = frame["verdict"].isin(DECIDED), frame["p_of_all"]
        texts.append(
            f"All of these together: {int(decided.sum())} of {int(p.notna().sum())} are decided, and "
            f"{int((p[decided] <= LEVEL).sum())} remain."
        )
    return texts


def _counted_once(claims: pd.DataFrame) -> str:
    """How many distinct contrasts differ from none; empty for claims that were judged before these were counted."""
    if not {*DISTINCT} <= set(claims):
        return ""
    contrasts, differ = (int(claims[name].sum()) for name in DISTINCT)
    return f" They have {contrasts} contrasts, each counted once; {differ} differ from no effect, each at 5 %."


def _with_ours(claims: pd.DataFrame) -> str:
    ours = int((claims["p"].notna() & (claims["of"] != "paper")).sum())
    return f" (with {ours} {OURS})" if ours else " claims"


def numbers(row: pd.Series) -> str:
    """Estimate, interval and counts in words, with the wider interval that contradicts where it is another."""
    if pd.isna(row["estimate"]):
        return ""
    form = "+.3g" if row["unit"] == "training seeds" else "+.1f"
    names = ("estimate", "low", "high", "low_of_all", "high_of_all")
    value, low, high, low_of_all, high_of_all = (_rounded(row[name], form) for name in names)
    over = f"{int(row['seeds'])} seeds" + ("" if pd.isna(row["problems"]) else f", {int(row['problems'])} problems")
    several = row["run"] > 1 and row["verdict"] not in HOLDS
    wider = f"; for {row['run']} contrasts [{low_of_all}, {high_of_all}]" if several else ""
    if row["unit"] == UNIT and is_withheld(row["low"], row["high"], of_difference(PERCENTAGE)):
        return f"{value} [{WITHHELD}] ({over} are too few)".replace("-", "−")
    return f"{value} [{low}, {high}]{wider} ({over})".replace("-", "−")


def _rounded(value: float, form: str) -> str:
    """The value as text, with one digit more where rounding to 0 would lose its sign."""
    return f"{value:{form}}" if value == 0 or float(f"{value:{form}}") else f"{value:+.1g}"


def markdown(frame: pd.DataFrame) -> str:
    lines = ["# What the papers claim, and what was found", ""]
    table = counts(frame, ["scale", "effort"])
    lines += [tabulate(records(table), headers="keys", tablefmt="pipe"), ""]
    lines += [*(f"- {sentence}" for sentence in [*cautions(frame), *discoveries(frame)]), "", *agreement.lines(frame)]
    for short, claims in frame.groupby("short", sort=False):
        rows, exceptions = [], []
        for _, results in claims.groupby("claim", sort=False):
            claim = results.iloc[0]
            sentence = f"{claim['says']} ({claim['place']})"
            first_columns = {"claim": sentence, "published": published(claim)}  # once, next to the first result
            for _, row in results.iterrows():
                rows.append({**first_columns, **_result(row)})
                first_columns = {"claim": "", "published": ""}
            if isinstance(claim["published_exceptions"], str):
                exceptions.append(f"- {sentence}: {claim['published_cells']}, not {claim['published_exceptions']}")
        lines += [f"## {short}", "", tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True), ""]
        if exceptions:
            lines += ["What the paper's own numbers do not bear out everywhere, with the cells:", "", *exceptions, ""]
    return "\n".join([*lines, *(f"- {note}" for note in notes(frame))]) + "\n"


def _result(row: pd.Series) -> dict[str, Any]:
    return {
        "scale": row["scale"],
        "effort": row["effort"],
        "verdict": f"**{row['verdict']}**",
        "run": f"{row['run']} of {row['contrasts']}",
        "deciding contrast": next((text for text in _why(row) if isinstance(text, str)), ""),
        "estimate": numbers(row),
    }


def _why(row: pd.Series) -> list[Any]:
    """The deciding contrast, or the reason without one; the criterion that is not met goes before both."""
    texts = [row["deciding"], row["reason"]]
    return texts[::-1] if row["verdict"] == NOT_EXERCISED else texts


def published(row: pd.Series) -> str:
    """Whether the paper's numbers agree with the claim, in words."""
    cells = f" ({row['published_cells']})" if isinstance(row["published_cells"], str) else ""
    return f"{row['published']}{cells}"


def sentence(frame: pd.DataFrame) -> str:
    """How many claims were judged, on what was run, and the verdicts on them, in a sentence per paper."""
    texts = []
    for (short, scale, effort), claims in counted(frame).groupby(["short", "scale", "effort"], sort=False):
        ran = grid.what_ran(claims)
        where = f"{short} at {scale} scale{f' with {ran}' if ran else ''}, {effort}"
        texts.append(f"{where}: " + ", ".join(_in_words(row) for row in records(counts(claims, []))))
    return " ".join(["; ".join(texts) + ".", *cautions(frame)]) if texts else "No claim was judged."


def _in_words(row: dict[str, Any]) -> str:
    """A row of `counts` in words: "on a method and another: 1 same direction, 2 undecided"."""
    words = ", ".join(f"{row[verdict]} {verdict}" for verdict in VERDICTS if row.get(verdict))
    return f"on {row['claims']} {words}"


def main(
    folder: Annotated[Path, typer.Option(help="Folder with one folder per scale.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .csv, .md, .png, .txt.")],
    scale: Annotated[str | None, typer.Option(help="This scale alone.")] = None,
    judged: Annotated[bool, typer.Option("--judged", help="Without the claims that were not run.")] = False,
) -> None:
    """Put the claims of all scales together."""
    frame = gather(folder)
    if scale is not None:
        frame = frame[frame["scale"] == scale]
    if judged:
        frame = frame[frame["verdict"] != NOT_RUN]
    for path in out:
        if path.suffix == ".png":
            grid.publish(frame, path)
        elif path.suffix == ".csv":
            publish(path, frame.to_csv(index=False, lineterminator="\n"))
        else:
            publish(path, sentence(frame) + "\n" if path.suffix == ".txt" else markdown(frame))


if __name__ == "__main__":
    typer.run(main)
