"""Stage: diversity. Differences between a problem's correct solutions, and the spread of its answers.

Three measures per problem, over its n samples:

- `s_div`: the mean cosine distance between embeddings of its correct responses (PACS, App. E);
- `distinct`: the number of different correct texts, and its expectation for m correct samples (rarefaction);
- `answer_entropy`: Shannon entropy of the answers, over all samples with an answer.

docs/statistics.md says what the paper leaves open, and our choices.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
import typer
from numpy.typing import NDArray

from rlvr.files import RecordError, publish
from rlvr.records import Completion, Grade, Problem, RecordFile, read_records
from rlvr.scoring.score import clusters_of, pairs
from rlvr.scoring.votes import entropy, miller_madow, votes
from rlvr.statistics.pass_at_k import pass_at_k
from rlvr.training.progress import Bar
from rlvr.verifiers._text import visible

if TYPE_CHECKING:
    from rlvr.scoring.embedding import Encoder

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """A response, its status (one of `rlvr.verifiers.STATUSES`) and the extracted answer."""

    text: str
    status: str
    extracted: str | None


def mean_cosine_distance(vectors_KD: Vectors) -> float:
    """PACS, Eq. 13: 1 - mean over the K (K - 1) / 2 pairs of the cosine similarity (Eq. 12). NaN for K < 2.

    For unit vectors v the similarities of all ordered pairs sum to |sum v|^2 - K. Each pair counts once, without pairs
    of a response with itself, so the expectation does not depend on K.
    """
    count = len(vectors_KD)
    if count < 2:
        return math.nan
    unit_KD = vectors_KD / np.linalg.norm(vectors_KD, axis=1, keepdims=True)
    total_D = unit_KD.sum(axis=0)
    similarity = (total_D @ total_D - (unit_KD * unit_KD).sum()) / (count * (count - 1))
    return float(min(2.0, max(0.0, 1 - similarity)))  # rounding may leave the range of a distance


def rarefied(counts: Sequence[int], m: int) -> float:
    """Expected number of different kinds among m of the N = sum(counts) samples, drawn without replacement.

    E[S_m] = sum_i (1 - C(N - N_i, m) / C(N, m)) (Hurlbert 1971): the sum of pass@m over kinds. It
    compares methods with different numbers of correct samples at the same number. NaN for N < m: no extrapolation.
    """
    total = sum(counts)
    if m < 1 or total < m:
        return math.nan
    return float(pass_at_k(np.full(len(counts), total), np.asarray(counts), m).sum())


def solution(text: str) -> str:
    """A response as a solution: NFKC, without invisible characters, runs of spaces and line ends as one space."""
    return " ".join(visible(text).split())


def measure(samples: list[Sample], encoder: Encoder | None, m: int) -> dict[str, Any]:
    """The measures of one problem; NaN for a measure that its samples do not allow."""
    correct = [sample for sample in samples if sample.status == "correct"]
    solutions = Counter(solution(sample.text) for sample in correct)
    answers = votes((sample.status, sample.extracted) for sample in samples)
    s_div, cut = math.nan, 0
    if encoder is not None and len(correct) >= 2:
        vectors_KD, cut_K = encoder.encode([sample.text for sample in correct])
        s_div, cut = mean_cosine_distance(vectors_KD), int(cut_K.sum())
    return {
        "n": len(samples),
        "correct": len(correct),
        "s_div": s_div,
        "cut": cut,
        "distinct": len(solutions),
        "m": m,
        "distinct_at_m": rarefied(list(solutions.values()), m),
        "votes": answers.total(),
        "answers": sum(count > 0 for count in answers.values()),
        "answer_entropy": entropy(answers.values()),
        "answer_entropy_miller_madow": miller_madow(answers.values()),
    }


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Each measure's mean over the problems that have it (PACS, Eq. 14), and the number of these problems."""
    means: dict[str, Any] = {"problems": len(rows)}
    for name in ("s_div", "distinct_at_m", "answer_entropy"):
        values = [row[name] for row in rows if not math.isnan(row[name])]
        means[name] = float(np.mean(values)) if values else math.nan
        means[f"{name}_problems"] = len(values)
    solved = [row["distinct"] for row in rows if row["correct"]]
    means["distinct"] = float(np.mean(solved)) if solved else math.nan
    means["distinct_problems"] = len(solved)
    embedded = sum(row["correct"] for row in rows if not math.isnan(row["s_div"]))
    means["cut_share"] = sum(row["cut"] for row in rows) / embedded if embedded else math.nan
    return means


def encoder_of(name: str) -> Encoder:
    """An embedding model on one thread, so that vectors are reproducible. Raises EmbeddingError, a ValueError."""
    from rlvr.policies.store import device
    from rlvr.scoring.embedding import load
    from rlvr.training.deterministic import one_thread

    one_thread()
    return load(name, device())


def diversity(
    problems: list[Problem], completions: Iterable[Completion], grades: Iterable[Grade], encoder: Encoder | None, m: int
) -> pd.DataFrame:
    """One row per problem, from completions in the order of the problems; it holds one problem's at a time.

    Raises RecordError for another order, and if completions and grades do not match one to one.
    """
    frame = pd.DataFrame({"problem": [p.id for p in problems], "level": [p.level for p in problems]})
    rows: dict[str, dict[str, Any]] = {}
    with Bar("diversity", len(problems)) as bar:
        for problem, group in groupby(pairs(completions, grades), lambda pair: pair[0].problem):
            if problem in rows:
                raise RecordError(f"completions of problem {problem!r} are in two places; sample again")
            samples = [Sample(completion.text, grade.status, grade.extracted) for completion, grade in group]
            rows[problem] = measure(samples, encoder, m)
            bar.advance()
    by_problem = [rows.get(problem.id) or measure([], encoder, m) for problem in problems]
    return frame.join(pd.DataFrame(by_problem)).join(pd.DataFrame(clusters_of(problems)))


def main(
    policy: Annotated[str, typer.Option(help="Id of the policy, a column of the result.")],
    evaluation: Annotated[str, typer.Option(help="Id of the evaluation, a column of the result.")],
    completions: Annotated[Path, typer.Option(help="completions.jsonl.gz")],
    grades: Annotated[Path, typer.Option(help="grades.jsonl.gz")],
    problems: Annotated[Path, typer.Option(help="problems.jsonl of the benchmark.")],
    embedding: Annotated[str, typer.Option(help="A packaged embedding model, a folder, or owner/model of the hub.")],
    common: Annotated[int, typer.Option(help="m: number of correct samples for distinct solutions.", min=1)],
    out: Annotated[Path, typer.Option(help="diversity.csv to write.")],
) -> None:
    """Measure the diversity of one benchmark's completions."""
    records = read_records(problems, Problem), RecordFile(completions, Completion), RecordFile(grades, Grade)
    try:
        encoder = encoder_of(embedding)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    frame = diversity(*records, encoder, common)
    for place, (name, value) in enumerate({"policy": policy, "evaluation": evaluation, "embedding": embedding}.items()):
        frame.insert(place, name, value)
    publish(out, frame.to_csv(index=False, float_format="%.8g", lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)
