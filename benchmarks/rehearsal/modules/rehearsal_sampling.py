"""Stage generate with arguments of vLLM's own, and a line of figures for each batch that it draws.

`python rehearsal_sampling.py ENGINE.json ARGUMENT...`: ENGINE.json has keyword arguments of vLLM's LLM; the others are
`rlvr.sampling.generate`'s. A small batch is drawn first, which also warms up.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from rlvr.sampling import generate
from rlvr.sampling.engines import vllm as engine

SMALL = (8, 4)  # problems and samples


def main() -> None:
    more = json.loads(Path(sys.argv.pop(1)).read_text())
    options, load, draw = engine.options, engine.load, engine.Vllm.draw
    began = time.perf_counter()

    def timed(self: engine.Vllm, problems: list, first: int, last: int) -> list:
        started = time.perf_counter()
        sampled = draw(self, problems, first, last)
        seconds, tokens = time.perf_counter() - started, sum(len(s.response) for s in sampled)
        _say(rows=len(sampled), tokens=tokens, seconds=seconds, tokens_per_second=tokens / seconds)
        return sampled

    def loaded(*arguments: Any, **named: Any) -> engine.Vllm:
        made = load(*arguments, **named)
        _say(start=time.perf_counter() - began)
        problems = generate.read_records(Path(sys.argv[sys.argv.index("--problems") + 1]), generate.Problem)
        for _ in range(2):  # the first one warms up
            made.draw(problems[: SMALL[0]], 0, SMALL[1])
        return made

    engine.options = lambda *arguments, **named: {**options(*arguments, **named), **more}
    engine.Vllm.draw, engine.ENGINE = timed, replace(engine.ENGINE, load=loaded)
    typer.run(generate.main)


def _say(**figures: float) -> None:
    print("FIGURES", json.dumps({name: round(value, 2) for name, value in figures.items()}), flush=True)


if __name__ == "__main__":
    main()
