"""Runs a training stage and counts its failures: `python -m rlvr.training.retry_guard STATE LOG -- COMMAND ...`.

Snakemake repeats a failed job, each time on all its GPUs. The same error at the same step for the third time is final:
a later attempt ends at once. "To be continued" (exit code 75), SIGTERM and the loss of a job count as no failure.

The failures are in the state folder. Snakemake deletes LOG before each attempt, so the first failure's log stays beside
the state folder. This module imports no torch.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from rlvr.child_processes import tied
from rlvr.config.schedulers import JOB_END, job_end
from rlvr.files import publish_json, read_json
from rlvr.training import backends
from rlvr.training.progress import TO_BE_CONTINUED

FAILURES = "failures.json"  # in the state folder
FIRST_LOG = "first-failure.log"  # beside it
FINAL = 3  # failures with one error at one step
LONGEST = 200  # characters of an error
NOTHING = "no message"  # of a log without one

_ERROR = re.compile(r"[\w.]*(?:Error|Exception): .*")  # Ray writes the worker's name before it
_VARIES = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?")


def said(log: str) -> str:
    """The error that a log ends with: the last line that names an exception, else the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("{")]
    named = [match.group().strip() for match in _ERROR.finditer(log)]
    return named[-1] if named else lines[-1] if lines else NOTHING


def error_of(log: str, code: int) -> str:
    """The error that ended a stage with an exit code, or the signal that killed it."""
    return said(log)[:LONGEST] if code > 0 else f"killed by {signal.Signals(-code).name}"


def same(error: str) -> str:
    """An error without what differs from one attempt to the next: numbers and addresses."""
    return _VARIES.sub("#", error)


def final(failures: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The failure that has been repeated too often, if the last one has."""
    if not failures:
        return None
    last = failures[-1]
    alike = [one for one in failures if (one["step"], same(one["error"])) == (last["step"], same(last["error"]))]
    return last if len(alike) >= FINAL else None


def refusal(state: Path, failure: dict[str, Any]) -> str:
    times = f"failed {FINAL} times at step {failure['step']} with: {failure['error']}"
    log, name = state.parent / FIRST_LOG, f"{state.parent.parent.name}/{state.parent.name}"
    clear = f"rlvr state retry {name} --results {state.parents[2]}"
    return f"{name} {times}; the first failure's log is {log}; mend the cause, then allow new attempts with `{clear}`"


def failed(state: Path, log: Path, code: int) -> None:
    """Enter a failure, and keep the first one's log."""
    text = log.read_text(errors="replace") if log.is_file() else ""
    known = failures_of(state)
    if not known and log.is_file():
        shutil.copyfile(log, state.parent / FIRST_LOG)
    step = max(backends.steps(state), default=0)
    publish_json(state / FAILURES, [*known, {"step": step, "error": error_of(text, code), "code": code}])


def failures_of(state: Path) -> list[dict[str, Any]]:
    path = state / FAILURES
    return read_json(path) if path.exists() else []


def run(command: list[str]) -> tuple[int, bool]:
    """The command's exit code, and whether this process was asked to stop; passes SIGTERM on."""
    stopped = False
    process: subprocess.Popen[bytes] | None = None

    def forward(number: int, _: object) -> None:
        nonlocal stopped
        stopped = True
        if process is not None:
            process.send_signal(number)

    signal.signal(signal.SIGTERM, forward)
    end = {JOB_END: str(known)} if (known := job_end()) else {}  # the command may be a container, without `squeue`
    process = subprocess.Popen(command, env={**os.environ, **end}, preexec_fn=tied())
    if stopped:
        process.terminate()
    return process.wait(), stopped


def main(state: Path, log: Path, command: list[str]) -> int:
    if failure := final(failures_of(state)):
        print(refusal(state, failure), file=sys.stderr)
        return 1
    code, stopped = run(command)
    if code == 0:
        (state / FAILURES).unlink(missing_ok=True)
    elif code != TO_BE_CONTINUED and not stopped:
        state.mkdir(parents=True, exist_ok=True)
        failed(state, log, code)
        if failure := final(failures_of(state)):
            print(refusal(state, failure), file=sys.stderr)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(main(Path(words[0]), Path(words[1]), words[words.index("--") + 1 :]))
