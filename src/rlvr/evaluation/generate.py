"""Stage: generate. Samples completions of a benchmark from a policy, part by part, so that a kill loses one part.

A part is some problems and a range of samples. It is a file beside the others once all of it is drawn, and is then
never drawn again; when all are there, they are joined in the order of the problems.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr import engines
from rlvr.config.identity import canonical
from rlvr.config.schema import EvaluationSpec
from rlvr.engines import Engine, EngineError, Sampled
from rlvr.records import (
    Completion,
    PicturesUnread,
    Problem,
    RecordError,
    Tokens,
    publish_json,
    publish_lines,
    publish_records,
    read_json,
    read_lines,
    read_records,
    sha256,
    text_alone,
)
from rlvr.training.checkpoint import lease
from rlvr.training.deterministic import one_thread
from rlvr.training.progress import TO_BE_CONTINUED, Bar, StopRequest

AUDITED = 64  # problems whose first sample keeps its tokens, for the comparison with the trainer


@dataclass(frozen=True)
class Part:
    """Problems `start` to `stop` - 1, samples `first` to `last` - 1 of each."""

    start: int
    stop: int
    first: int
    last: int

    @property
    def name(self) -> str:
        return f"part-{self.start:06d}-{self.first:06d}.jsonl.gz"


def parts_of(problems: int, samples: int, rows: int) -> list[Part]:
    """Parts of about `rows` completions: several problems with all their samples, or some samples of one."""
    if samples <= rows:
        each = rows // samples
        return [Part(i, min(i + each, problems), 0, samples) for i in range(0, problems, each)]
    return [Part(i, i + 1, j, min(j + rows, samples)) for i in range(problems) for j in range(0, samples, rows)]


class Parts:
    """The parts that are drawn so far, in a folder that outlives a killed job.

    `fingerprint` names all that they depend on: parts of something else are removed, with a word about it.
    """

    def __init__(self, folder: Path, fingerprint: dict[str, Any]):
        self.folder = folder
        mark = folder / "fingerprint.json"
        if mark.exists() and read_json(mark) != fingerprint:
            print(f"{folder} holds samples of another policy, benchmark or engine; they are removed", flush=True)
            self.remove()
        folder.mkdir(parents=True, exist_ok=True)
        publish_json(mark, fingerprint)

    def holds(self, part: Part) -> bool:
        return (self.folder / part.name).exists()

    def save(self, part: Part, sampled: list[Sampled]) -> None:
        rows = [_row(part, sample) for sample in sampled]
        publish_lines(self.folder / part.name, rows)

    def read(self, part: Part) -> list[dict[str, Any]]:
        rows = list(read_lines(self.folder / part.name))
        if len(rows) != (part.stop - part.start) * (part.last - part.first):
            raise RecordError(f"{self.folder / part.name} is damaged; delete it and run again")
        return rows

    def remove(self) -> None:
        """The parts and their mark; the folder and its lease stay, which another process may be waiting for."""
        for path in [self.folder / "fingerprint.json", *self.folder.glob("part-*")]:
            path.unlink(missing_ok=True)


def _row(part: Part, sampled: Sampled) -> dict[str, Any]:
    done = sampled.completion
    row: dict[str, Any] = {"completion": asdict(done)}
    if done.sample == 0 and part.start < AUDITED:
        logprobs = tuple(round(value, 6) for value in sampled.logprobs)
        tokens = Tokens(done.problem, done.sample, tuple(sampled.prompt), tuple(sampled.response), logprobs)
        row["tokens"] = asdict(tokens)
    return row


def generate(
    engine: Engine, problems: list[Problem], samples: int, parts: Parts, rows: int
) -> tuple[list[Completion], list[Tokens]]:
    """All completions, in the order of the problems, and the tokens of some; draws what is not there yet.

    Asked to stop (SIGTERM), it ends after the part that it is drawing, with the exit code for "to be continued".
    """
    planned = parts_of(len(problems), samples, rows)
    missing = [part for part in planned if not parts.holds(part)]
    stop = StopRequest()
    with Bar("generate", len(planned), len(planned) - len(missing)) as bar:
        for part in missing:
            parts.save(part, engine.draw(problems[part.start : part.stop], part.first, part.last))
            bar.advance()
            if stop.after_step() and part != missing[-1]:
                print("asked to stop: the parts drawn so far are kept, to be continued", flush=True)
                raise SystemExit(TO_BE_CONTINUED)
    read = [row for part in planned for row in parts.read(part)]
    tokens = [Tokens(**row["tokens"]) for row in read if "tokens" in row]
    return [Completion(**row["completion"]) for row in read], tokens[:AUDITED]


def main(
    spec: Annotated[str, typer.Option(help="The evaluation, as JSON (rlvr.config.schema.EvaluationSpec).")],
    policy: Annotated[Path, typer.Option(help="Manifest of the policy.")],
    problems: Annotated[Path, typer.Option(help="problems.jsonl of the benchmark.")],
    out: Annotated[Path, typer.Option(help="completions.jsonl.gz to write.")],
    tokens: Annotated[
        Path, typer.Option(help="tokens.jsonl.gz to write: of some completions, with log-probabilities.")
    ],
    state: Annotated[Path, typer.Option(help="Folder for finished parts; survives a failed job.")],
    rows: Annotated[int | None, typer.Option(help="Completions a part; default: the engine's own.", min=1)] = None,
    tensor_parallel: Annotated[int, typer.Option(help="vllm: devices to spread the model over.", min=1)] = 1,
    gpu_memory: Annotated[float, typer.Option(help="vllm: share of a device's memory.", min=0.05, max=1)] = 0.75,
) -> None:
    """Sample one benchmark from one policy."""
    one_thread()
    evaluation = EvaluationSpec.model_validate_json(spec)
    sampling = evaluation.sampling
    try:
        asked = text_alone(read_records(problems, Problem), problems)
        options = {"tensor_parallel": tensor_parallel, "gpu_memory": gpu_memory}
        engine = engines.load(sampling.engine, policy, sampling, **options)
    except (EngineError, PicturesUnread) as error:
        raise SystemExit(str(error)) from error
    rows = rows or engine.rows
    fingerprint = {
        "evaluation": canonical(evaluation),
        "policy": {key: read_json(policy).get(key) for key in ("files", "hub", "template")},
        "problems": sha256(problems),
        "engine": f"{engine.name}, {engine.version}",
        "rows": rows,
        "tensor_parallel": tensor_parallel,
    }
    with lease(state):
        parts = Parts(state, fingerprint)
        try:
            completions, audited = generate(engine, asked, sampling.samples, parts, rows)
        except EngineError as error:
            raise SystemExit(str(error)) from error
        publish_records(tokens, audited)
        publish_records(out, completions)
        parts.remove()


if __name__ == "__main__":
    typer.run(main)
