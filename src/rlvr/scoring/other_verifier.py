"""Stage: a paper's stored completions under another verifier: what the choice of verifier does to its scores.

Mathematical answers have two verifiers, `math` and only the library (`math_verify`). The stored grades are the
verdicts of one; this stage asks the other. It samples and changes nothing.
"""

from collections.abc import Iterable, Iterator
from itertools import tee
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr import stage_options, verifiers
from rlvr.child_processes import end_with_caller
from rlvr.config.identity import data_id
from rlvr.config.plan import Plan, asked_for
from rlvr.files import publish, publish_csv, read_json
from rlvr.records import Completion, Grade, Problem, RecordFile, read_records
from rlvr.scoring.comparison import Comparison, gold_for
from rlvr.scoring.score import pairs
from rlvr.verifiers.pool import Pool

OTHER = {"math": "math_verify", "math_verify": "math"}
SHOWN = 3  # differing answers per evaluation on the page; the counts are of all
NAMES = ("policy", "benchmark")
COUNTS = ("answers", "first right", "second right", "both right", "only first", "only second", "both wrong")
COLUMNS = (*NAMES, "evaluation", "first", "second", *COUNTS)


def of_paper(plan: Plan, paper: str) -> dict[str, Any]:
    """The evaluations of a paper's tables and figures that have another verifier, and the verifiers of the others."""
    scored = [pair for name in asked_for(plan, paper) for pair in plan.papers[paper].item(name).scored()]
    evaluations, alone = [], []
    for policy, evaluation in dict.fromkeys(scored):
        data = plan.evaluations[evaluation].data
        if data.verifier not in OTHER:
            alone.append(data.verifier)
            continue
        about = {"policy": policy, "evaluation": evaluation, "benchmark": data.name}
        evaluations.append({**about, "data": data_id(data), "verifier": data.verifier})
    return {"evaluations": evaluations, "alone": sorted(set(alone))}


def inputs(layout: dict[str, Any], results: str) -> list[str]:
    """The files of those evaluations: completions, grades, problems."""
    return list(dict.fromkeys(str(path) for one in layout["evaluations"] for path in _files(one, Path(results))))


def versions(layout: dict[str, Any]) -> list[str]:
    """Both verifiers' versions: another version makes the comparison again. None without evaluations."""
    return [f"{name} {verifiers.kind(name).version}" for name in OTHER] if layout["evaluations"] else []


def _files(one: dict[str, str], results: Path) -> tuple[Path, Path, Path]:
    folder = results / "evaluations" / one["policy"] / one["evaluation"]
    return (
        folder / "completions.jsonl.gz",
        folder / "grades.jsonl.gz",
        results / "data" / one["data"] / "problems.jsonl",
    )


# ---- the comparison ----


def compare(one: dict[str, str], results: Path, workers: int) -> Comparison:
    """The stored grades of an evaluation against the other verifier's verdicts on its completions."""
    completions, grades, problems = _files(one, results)
    other = OTHER[one["verifier"]]
    golds = {problem.id: problem.gold for problem in read_records(problems, Problem)}
    comparison = Comparison((one["verifier"], other), most=SHOWN)
    rows = pairs(RecordFile(completions, Completion), RecordFile(grades, Grade))
    with Pool(other, workers=workers) as pool:
        for completion, grade, judgement in _judged(pool, rows, golds):
            gold = golds[completion.problem]
            place = (completion.problem, str(completion.sample))
            comparison.add(place, gold, (grade.status, grade.extracted), judgement)
    return comparison


def _judged(
    pool: Pool, rows: Iterable[tuple[Completion, Grade]], golds: dict[str, str]
) -> Iterator[tuple[Completion, Grade, verifiers.Judgement]]:
    """Each completion with its grade and the pool's judgement; of them only those that are being judged are held."""
    kept, asked = tee(rows)
    questions = ((row.text, gold_for(golds[row.problem], pool.verifier)) for row, _ in asked)
    for (completion, grade), verdict in zip(kept, pool.judge(questions), strict=True):
        yield completion, grade, verifiers.settle((verdict.status, verdict.extracted), completion.finished)


# ---- what is written ----


def rows(done: list[tuple[dict[str, str], Comparison]]) -> list[dict[str, Any]]:
    """A row per evaluation: the names of both verifiers, and COUNTS."""
    return [
        {
            **{name: one[name] for name in (*NAMES, "evaluation")},
            **dict(zip(("first", "second"), comparison.verifiers, strict=True)),
            **dict(zip(COUNTS, (comparison.answers, *comparison.right(), *comparison.counts().values()), strict=True)),
        }
        for one, comparison in done
    ]


def markdown(done: list[tuple[dict[str, str], Comparison]], alone: list[str]) -> str:
    """Tables of counts and of differing answers; without an evaluation, why there is nothing to compare."""
    why = []
    if alone:
        named = ", ".join(f"`{name}`" for name in alone)
        why = [
            f"The verdicts of {named} are compared with no other verifier: the library math-verify reads mathematical "
            "answers only."
        ]
    if not done:
        return "\n\n".join(why or ["This paper has no evaluation."]) + "\n"
    of_each = [f"`{name}` is version {verifiers.kind(name).version}." for name in OTHER]
    intro = [
        "The same completions under two verifiers: the set's own, whose verdicts the tables show, and another one. "
        f"pass@1 is the share of right answers. {' '.join(of_each)}"
    ]
    head = [*NAMES, "answers", "own verifier", "pass@1", "other", "pass@1", "only own right", "only other right"]
    counts = [[f"`{one['policy']}`", one["benchmark"], *_shares(comparison)] for one, comparison in done]
    differing = [
        [f"`{one['policy']}`", *map(_code, row)]
        for one, comparison in done
        for row in comparison.table(("problem", "n"))[1:]
    ]
    shown = []
    if differing:
        title = f"Answers on which they differ, up to {SHOWN} per evaluation:"
        shown = [title, _table(["policy", "problem", "sample", "gold", "own verifier", "other"], differing)]
    return "\n\n".join([*intro, _table(head, counts), *shown, *why]) + "\n"


def _shares(comparison: Comparison) -> list[str]:
    own, other = comparison.verifiers
    first, second = (f"{100 * right / comparison.answers:.2f} %" for right in comparison.right())
    only = [f"{comparison.counts()[f'only {name}']:,}" for name in (own, other)]
    return [f"{comparison.answers:,}", f"`{own}`", first, f"`{other}`", second, *only]


def _code(text: str) -> str:
    """A cell that Markdown shows as it is."""
    inner = text.replace("`", "'").replace("|", "\\|")
    return f"`{inner}`" if inner else ""


def _table(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))


def main(
    spec: stage_options.Spec,
    results: stage_options.Results,
    out: Annotated[Path, typer.Option(help="Markdown to write; the counts of all go beside it, as CSV.")],
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
) -> None:
    """Compare a paper's stored grades with another verifier's verdicts."""
    end_with_caller()
    layout = read_json(spec)
    done = [(one, compare(one, results, workers)) for one in layout["evaluations"]]
    counts = out.with_suffix(".csv")
    if done:
        publish_csv(counts, rows(done))
    else:
        publish(counts, f"{','.join(COLUMNS)}\n")
    publish(out, markdown(done, layout["alone"]))


if __name__ == "__main__":
    typer.run(main)
