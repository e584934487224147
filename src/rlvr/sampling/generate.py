"""Stage: generate. Samples completions of a benchmark from a policy, part by part; a kill loses only one part.

One job draws all parts and writes the completions; or several jobs draw some slices each, and `rlvr.sampling.merge`
joins them. The engine starts only if a part is missing. origin.json, beside the completions, says who drew the parts.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr import provenance, stage_options
from rlvr.child_processes import end_with_caller
from rlvr.config.identity import canonical
from rlvr.config.registries import ENGINES
from rlvr.config.schema.settings import SLICES
from rlvr.config.schema.specs import EvaluationSpec
from rlvr.files import RecordError, publish_json, sha256
from rlvr.policies.errors import NonFinite
from rlvr.policies.manifest import fingerprint as policy_fingerprint
from rlvr.records import PicturesUnread, Problem, read_records, sum_of_pictures, text_alone, with_paths
from rlvr.sampling import engines
from rlvr.sampling.engines import Engine, EngineError
from rlvr.sampling.parts import (
    ORIGIN,
    Part,
    Parts,
    in_order,
    parts_of,
    publish_completions,
    publish_slice,
    rows_a_part,
    slice_folder,
    slice_number,
)
from rlvr.training.lock_file import lease
from rlvr.training.progress import TO_BE_CONTINUED, Bar, StopRequest


@dataclass(frozen=True)
class SamplingTask:
    """The problems to sample, the planned parts, and the folder of finished parts."""

    engine: Callable[[], Engine]
    problems: list[Problem]
    samples: int
    planned: list[Part]
    fingerprint: dict[str, Any]
    state: Path

    def whole(self, out: Path, tokens: Path) -> None:
        """Draw and publish all. The parts stay: a job that waited for this one publishes from them."""
        with lease(self.state):
            parts = Parts(self.state, self.fingerprint, self.planned)
            draw(self.engine, self.problems, [parts])
            rows = in_order([parts.rows()], self.problems, self.samples, self.state)
            publish_json(out.parent / ORIGIN, parts.origins())
            publish_completions(rows, out, tokens)

    def slices(self, paths: dict[int, Path]) -> None:
        """Draw and publish slices; each has its own folder and lease, and keeps its parts there until the merge."""
        with ExitStack() as leases:
            shares = {}
            for number in sorted(paths):  # the same order in all jobs, so that two never wait for each other
                folder = slice_folder(self.state, number)
                leases.enter_context(lease(folder))
                shares[number] = Parts(folder, self.fingerprint, self.planned[number::SLICES])
            draw(self.engine, self.problems, list(shares.values()))
            for number, parts in shares.items():
                publish_slice(paths[number], self.fingerprint, parts)


def draw(engine: Callable[[], Engine], problems: list[Problem], shares: list[Parts]) -> None:
    """Draw the missing parts.

    On SIGTERM it ends after the current part, with the exit code for "to be continued"; at once if the engine ends.
    """
    missing = [(parts, part) for parts in shares for part in parts.missing()]
    planned = sum(len(parts.planned) for parts in shares)
    stop = StopRequest()
    with Bar("generate", planned, planned - len(missing)) as bar:
        for number, (parts, part) in enumerate(missing, 1):
            try:
                completions = engine().draw(problems[part.start : part.stop], part.first, part.last)
            except Exception as error:
                if not stop.requested:
                    raise
                # Slurm sends SIGTERM to the engine's processes too, which do not wait for the part.
                print(f"asked to stop, and the engine ended first: {error}; to be continued", flush=True)
                raise SystemExit(TO_BE_CONTINUED) from error
            parts.save(part, completions)
            bar.advance()
            if stop.after_step() and number < len(missing):
                print("asked to stop: the finished parts stay, to be continued", flush=True)
                raise SystemExit(TO_BE_CONTINUED)


def main(
    spec: stage_options.Spec,
    policy: Annotated[Path, typer.Option(help="Manifest of the policy.")],
    problems: stage_options.Problems,
    state: stage_options.State,
    slices: Annotated[
        list[Path] | None,
        typer.Argument(help="Slices to draw and write, by number: 03.jsonl.gz; default: all at once."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="completions.jsonl.gz to write; also writes origin.json.")] = None,
    tokens: Annotated[
        Path | None, typer.Option(help="tokens.jsonl.gz to write, with log-probabilities, for some completions.")
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Completions per part; default: the engine's own.", min=1)] = None,
    tensor_parallel: Annotated[int, typer.Option(help="vllm: devices that share the model.", min=1)] = 1,
    gpu_memory: Annotated[float, typer.Option(help="vllm: share of a device's memory.", min=0.05, max=1)] = 0.75,
) -> None:
    """Sample one benchmark from one policy: all of it, or some slices."""
    end_with_caller()
    provenance.collect()
    evaluation = EvaluationSpec.model_validate_json(spec.read_bytes())
    sampling, kind = evaluation.sampling, ENGINES.load(evaluation.sampling.engine)
    if bool(slices) == bool(out and tokens):
        raise typer.BadParameter("give --out and --tokens, or slices")
    try:
        benchmark = read_records(problems, Problem)
        if not kind.sees:
            text_alone(benchmark, problems)
        benchmark = with_paths(problems, benchmark)
        version = kind.origin()
        rows = rows or rows_a_part(kind.rows, len(benchmark), sampling.samples)
        fingerprint = {
            "evaluation": canonical(evaluation),
            "policy": policy_fingerprint(policy),
            "problems": sha256(problems),
            "engine": f"{sampling.engine}, {version}",
            "rows": rows,
            "tensor_parallel": tensor_parallel,
        }
        if pictures := sum_of_pictures(benchmark):
            fingerprint["pictures"] = pictures
        options = {"tensor_parallel": tensor_parallel, "gpu_memory": gpu_memory}
        engine = cache(lambda: engines.load(sampling.engine, policy, sampling, **options))
        planned = parts_of(len(benchmark), sampling.samples, rows)
        task = SamplingTask(engine, benchmark, sampling.samples, planned, fingerprint, state)
        if out and tokens:
            task.whole(out, tokens)
        else:
            task.slices({slice_number(path): path for path in slices or []})
    except (EngineError, NonFinite, PicturesUnread, RecordError) as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    typer.run(main)
