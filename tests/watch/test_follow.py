"""A followed command: short lines in a pipe, the view on a terminal, its notices, its exit code, and its whole log."""

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from conftest import ROOT
from test_terminal import ENTER, LEAVE, Terminal, lines_of
from test_watch import LOG

from rlvr.child_processes import began
from rlvr.workflow import notices

FOLLOW = (sys.executable, "-m", "rlvr.watch.follow", "--")
# A command that does what Snakemake does, as far as one sees it from outside.
COMMAND = """
import logging, os, signal, sys, time
from pathlib import Path
from rlvr.workflow import locks, notices
from snakemake_interface_logger_plugins.common import LogEvent
logger = logging.getLogger("followed")
logger.setLevel(logging.INFO)
notices.to_file(logger)
own = locks.own(Path(".snakemake"))
log = Path(".snakemake/log", time.strftime("%Y-%m-%dT%H%M%S.000000.snakemake.log"))
log.parent.mkdir(parents=True, exist_ok=True)
log.write_text({log!r})
print("rule sft:\\n    input: noise")
logger.warning("a [warning] of a rule")
logger.error("Error in rule rl", extra={{"event": LogEvent.JOB_ERROR}})
logger.info("a line of the log")
try:
    time.sleep({seconds})
except KeyboardInterrupt:
    print("interrupted")
    sys.exit(1)
logger.info("the result", extra=notices.SAID)
own.unlink()
sys.exit({code})
"""


def command(folder: Path, seconds: float = 0, code: int = 0) -> list[str]:
    return [*FOLLOW, *script(folder, COMMAND.format(log=LOG.format(kind="local"), seconds=seconds, code=code))]


def script(folder: Path, text: str) -> list[str]:
    (folder / "followed.py").write_text(text)
    return [sys.executable, "followed.py"]


def follow(folder, *words: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


def logged(folder) -> str:
    (log,) = (folder / "results" / "logs" / "commands").glob("*.log")
    return log.read_text()


def test_a_pipe_gets_a_line_on_the_progress_notices_as_they_are_and_no_block(tmp_path):
    done = follow(tmp_path, *command(tmp_path, seconds=5))
    assert done.returncode == 0, done.stderr
    first, *lines = done.stdout.splitlines()
    assert first.startswith("full output of python") and " followed.py: results/logs/commands/" in first
    (progress,) = (line for line in lines if "jobs done" in line)
    assert progress.startswith("1 of 7 jobs done (14 %), 1 started")
    assert lines == ["a [warning] of a rule", progress, "the result"], "no block of a job"
    assert "input: noise" in logged(tmp_path)


def test_a_failure_has_its_code_and_the_place_of_its_log(tmp_path):
    done = follow(tmp_path, *command(tmp_path, code=3))
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1].startswith("failed; full output: results/logs/commands/")


def test_a_command_that_ends_before_it_can_speak_shows_the_end_of_its_output(tmp_path):
    noise = "print('noise\\n' * 40); import sys; sys.exit('no rule makes x: did you mean y?')"
    done = follow(tmp_path, *FOLLOW, *script(tmp_path, noise))
    assert done.returncode == 1
    *_, said, last = done.stdout.splitlines()
    assert said == "no rule makes x: did you mean y?" and last.startswith("failed; ")
    assert done.stdout.count("\nnoise") < 20


def test_a_command_that_a_signal_kills_has_the_code_of_a_shell(tmp_path):
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert follow(tmp_path, *FOLLOW, *script(tmp_path, kill)).returncode == 128 + signal.SIGKILL


def test_a_results_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "results").write_text("")
    done = follow(tmp_path, *command(tmp_path))
    assert done.returncode == 1 and "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_closed_pipe_does_not_end_the_command(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    words = command(tmp_path, seconds=6)
    process = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdout.readline()  # type: ignore[union-attr]
    process.stdout.close()  # type: ignore[union-attr]
    process.wait(120)
    assert not [*tmp_path.glob(".snakemake/owners/*.json")], "the command came to its end, where it removes its note"


def test_a_terminal_has_the_view_and_then_the_result(tmp_path):
    terminal = Terminal(*command(tmp_path, seconds=6), cwd=tmp_path)
    terminal.until("1 of 7 jobs done")
    assert terminal.end() == 0, terminal.text[-3000:]
    assert terminal.text.count(ENTER) == terminal.text.count(LEAVE) == 1
    left = lines_of(terminal.text[terminal.text.index(LEAVE) :])
    assert [line for line in left if line][-2:] == ["a [warning] of a rule", "the result"]
    terminal.close()


def test_ctrl_c_ends_the_command_and_leaves_the_terminal_as_it_was(tmp_path):
    terminal = Terminal(*command(tmp_path, seconds=200), cwd=tmp_path)
    terminal.until("1 of 7 jobs done")
    os.write(terminal.keyboard, b"\x03")
    assert terminal.end() == 1 and "interrupted" in logged(tmp_path)
    assert terminal.text.count(ENTER) == terminal.text.count(LEAVE) == 1 and "Traceback" not in terminal.text
    terminal.close()


def test_sigterm_is_passed_on_and_the_command_dies_with_its_follower(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    note = tmp_path / "pid"
    sleeper = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(200)"
    for number, code in ((signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)):
        note.unlink(missing_ok=True)
        words = [*FOLLOW, *script(tmp_path, sleeper)]
        process = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not (note.exists() and note.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(number)
        assert process.wait(60) == code
        time.sleep(0.5)
        assert not began(int(note.read_text()))


def test_nothing_is_written_where_no_file_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.delenv(notices.FILE, raising=False)
    logger = logging.getLogger("alone")
    notices.to_file(logger)
    assert logger.handlers == []
    assert notices.Notices(tmp_path / "absent").new() == []


def test_half_a_line_waits_for_its_end(tmp_path):
    file = tmp_path / "notices"
    reader = notices.Notices(file)
    file.write_text("one\ntw")
    assert reader.new() == ["one"]
    with open(file, "a") as growing:
        growing.write("o\n")
    assert reader.new() == ["two"] and reader.new() == []
