"""Stage: controls. The controls and placebos of all papers at a scale; fails where a control was not found."""

from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
import typer

from rlvr.claims.controls import missed
from rlvr.claims.mechanisms import COLUMNS
from rlvr.files import publish

HINT = "the experiment does not find what is known, so its verdicts mean little; --config controls=warn goes on"


def main(
    files: Annotated[list[Path], typer.Option("--file", help="CSV of a paper's controls.")] = [],  # noqa: B006
    mode: Annotated[
        Literal["none", "warn", "fail"], typer.Option(help="What a control that is not found does.")
    ] = "fail",
    out: Annotated[Path, typer.Option(help="CSV of all.")] = Path("controls.csv"),
) -> None:
    """Put the controls of a scale together. Exits with 1 where one was not found, if `mode` is fail."""
    frames = [pd.read_csv(path) for path in files]
    frame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=[*COLUMNS])
    lines = missed(frame)
    for line in lines:
        print(f"control not found: {line}", flush=True)
    if lines and mode == "fail":
        raise SystemExit(f"{len(lines)} of the controls were not found: {HINT}")
    publish(out, frame.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    typer.run(main)
