"""Figures of the rehearsal: a line for each block, from rows, logs and what modules print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

END_OF_LOG = 40  # lines
BY_VERL = ("perf/max_memory_allocated_gb", "perf/max_memory_reserved_gb", "timing_s/update_weights", "timing_s/step")


def line_of(block: str, ok: bool | None, seconds: float, figures: str) -> str:
    """`block: ok, seconds s, figures`; `ok` is None for a block that had no time."""
    return f"{block}: {'skipped' if ok is None else 'ok' if ok else 'failed'}, {seconds:.1f} s, {figures}"


def row_of(about: str, limit: float, ok: bool | None, seconds: float, figures: str) -> str:
    """The first line of it as a row of docs/benchmarks.md: figure, goal, measured."""
    how = "not reached" if ok is None else f"{seconds:.0f} s" if ok else f"**failed** after {seconds:.0f} s"
    said = figures.split("\n")[0].replace("|", ";")
    return f"| {about} | at most {limit:.0f} s | {how}; {said} |"


def ended(code: int | None) -> str:
    """How a command ended, by its exit code; None: at its limit of time."""
    return "killed at the limit of time" if code is None else f"exit code {code}"


def end_of(log: Path, lines: int = END_OF_LOG) -> str:
    if not log.exists():
        return ""
    return "\n".join(line[:400] for line in log.read_text(errors="replace").splitlines()[-lines:])


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def said(log: Path) -> list[str]:
    """What a module printed behind the word FIGURES."""
    return re.findall(r"^FIGURES (.*)$", log.read_text(errors="replace"), re.MULTILINE) if log.exists() else []


def short(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"


def of_run(folder: Path) -> str:
    """A run's steps in one line: seconds by phase, gap of log-probabilities, gradient, loss, KL, memory by verl."""
    parts = []
    for row in rows(folder / "metrics.jsonl") or rows(folder / "state/live/metrics.jsonl"):
        timing = row["timing"]
        seconds = " ".join(f"{key} {timing[key]:.1f}" for key in ("rollout", "reference", "update"))
        figures = ", ".join(f"{key} {short(row[key])}" for key in ("logprob_gap", "grad_norm", "loss", "kl"))
        parts.append(f"step {row['step']}: {timing['step']:.1f} s ({seconds}), {figures}")
    return "; ".join(parts)


def by_verl(log: Path) -> str:
    """The last figures of memory and of the weights' way that verl itself prints."""
    text, found = log.read_text(errors="replace"), []
    for name in BY_VERL:
        if values := re.findall(rf"{name}['\"]?: ?(?:np\.float64\()?([\d.]+)", text):
            found.append(f"{name} {float(values[-1]):.2f}")
    return ", ".join(found)


def errors_of(folder: Path, count: int = 4) -> str:
    """The ends of the newest logs of Ray's workers that name an error."""
    found = []
    for path in sorted(folder.glob("*"), key=lambda p: p.stat().st_mtime, reverse=True):
        text = path.read_text(errors="replace")
        places = [m.start() for m in re.finditer(r"Error|Traceback|FATAL|Check failed", text)]
        if places:
            found.append(f"--- {path.name}\n{text[max(0, places[-1] - 1500) : places[-1] + 700]}")
    return "\n".join(found[:count])
