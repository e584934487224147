"""`rlvr watch` on a real terminal, a pseudo-terminal here: rows that come, another size, and Ctrl-C."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from conftest import ROOT
from test_watch import laid, row

from rlvr.training.lock_file import lease

HIDE, SHOW, ENTER, LEAVE = "\x1b[?25l", "\x1b[?25h", "\x1b[?1049h", "\x1b[?1049l"  # the cursor; a screen of its own
HOME, CONTROL = "\x1b[H", re.compile(r"\x1b\[[?\d;]*[A-Za-z]|\r")
WATCH = ("-m", "rlvr", "watch", "--results", "results", "--interval", "0.2")
SECONDS = 240  # for anything, on a busy machine


class Terminal:
    """A program on a terminal of its own, and what it has written there."""

    def __init__(self, *command: str, cwd: Path):
        self.keyboard, self.side = pty.openpty()
        self.resize(160, 40)
        self.before, self.text = termios.tcgetattr(self.side), ""
        self.program = subprocess.Popen(
            command,
            **dict.fromkeys(("stdin", "stdout", "stderr"), self.side),
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "xterm-256color", "PYTHONUTF8": "1"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal for it
        )

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, words: str, after: int = 0) -> int:
        """Reads until these words are there, behind a place of the text. Returns the place behind them."""
        deadline = time.monotonic() + SECONDS
        while (found := self.text.find(words, after)) < 0:
            assert time.monotonic() < deadline and self.program.poll() is None, self.text[-3000:]
            self._read(1.0)
        return found + len(words)

    def end(self) -> int:
        """The exit code; all that was written is read."""
        code = self.program.wait(SECONDS)
        while self._read(0.1):
            pass
        return code

    def _read(self, seconds: float) -> bool:
        if not select.select([self.keyboard], [], [], seconds)[0]:
            return False
        self.text += os.read(self.keyboard, 65536).decode(errors="replace")
        return True

    def close(self) -> None:
        self.program.kill()
        self.program.wait()
        os.close(self.keyboard)
        os.close(self.side)


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in CONTROL.sub("", text).split("\n")]


def row_of(step: int) -> dict:
    return row(step, time.time(), 0.1 * step, 2 - 0.1 * step)


@pytest.fixture
def run(tmp_path):
    """The rows of a run at work: this process holds its lease."""
    rows = [row_of(step) for step in range(1, 9)]
    state = laid(tmp_path / "results", "c", rows, steps=40, model="qwen2-chain", method="asym_power_alpha")
    with lease(state):
        yield state / "live" / "metrics.jsonl"


@pytest.fixture
def terminal(tmp_path, run):
    terminal = Terminal(sys.executable, *WATCH, cwd=tmp_path)
    yield terminal
    terminal.close()


def grow(run: Path, step: int) -> None:
    with open(run, "a") as file:
        file.write(json.dumps(row_of(step)) + "\n")


def test_rows_come_the_window_shrinks_and_ctrl_c_leaves_the_terminal_as_it_was(terminal, run):
    terminal.until("8/40")
    grow(run, 9)
    terminal.until("9/40")
    terminal.resize(80, 24)
    grow(run, 10)
    end = terminal.until(HOME, terminal.until("10/40"))
    frame = lines_of(terminal.text[terminal.text.rindex(HOME, 0, end - 1) : end])
    assert len(frame) <= 24 and max(map(len, frame)) <= 80, frame
    (cells,) = (line.split() for line in frame if "10/40" in line)
    assert cells[0] in "asym_power_alpha" and len(cells[0]) >= 8, "the curves give way before the method does"
    assert "1.000" in cells and "1.000 ▁" in " ".join(cells), frame
    os.write(terminal.keyboard, b"\x03")
    assert terminal.end() == 0, terminal.text[-3000:]
    text = terminal.text
    assert HIDE in text and text.rindex(SHOW) > text.rindex(HIDE)
    assert text.count(ENTER) == text.count(LEAVE) == 1 and text.index(LEAVE) > text.index(ENTER)
    assert termios.tcgetattr(terminal.side) == terminal.before
    left = "\n".join(lines_of(text[text.index(LEAVE) :]))
    assert "10/40" in left and "Traceback" not in left and "Aborted" not in left


@pytest.mark.parametrize("imported", ["typer\r\n", "rlvr.watch\r\n"])
def test_ctrl_c_while_it_starts_is_silent(tmp_path, run, imported):
    terminal = Terminal(sys.executable, "-X", "importtime", *WATCH, cwd=tmp_path)
    terminal.until(imported)
    os.write(terminal.keyboard, b"\x03")
    assert terminal.end() in (0, 130), terminal.text
    left_as_it_was(terminal)
    terminal.close()


@pytest.mark.parametrize("moment", [ENTER, HIDE, "8/40"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_screen_changes_leaves_the_terminal_as_it_was(terminal, moment, end):
    terminal.until(moment)
    terminal.program.send_signal(end)
    assert terminal.end() == 0, terminal.text
    left_as_it_was(terminal)


def left_as_it_was(terminal: Terminal) -> None:
    assert "Traceback" not in terminal.text
    assert termios.tcgetattr(terminal.side) == terminal.before
    assert terminal.text.count(HIDE) == terminal.text.count(SHOW)
    assert terminal.text.count(ENTER) == terminal.text.count(LEAVE)
